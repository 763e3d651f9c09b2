import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.zip.Deflater;

/** Answers every question with a compressed pong, at the port of this machine that is given. What compresses lies outside of Java's heap. */
class Pong {
    public static void main(String[] arguments) throws Exception {
        byte[] pong = "pong\n".getBytes();
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]));
        var server = HttpServer.create(address, 0);
        server.createContext("/", exchange -> {
            var deflater = new Deflater();
            deflater.setInput(pong);
            deflater.finish();
            byte[] answer = new byte[64];
            int length = deflater.deflate(answer);
            deflater.end();
            exchange.sendResponseHeaders(200, length);
            exchange.getResponseBody().write(answer, 0, length);
            exchange.close();
        });
        server.start();
    }
}
