import java.util.zip.Deflater;

/** Calls C, which allocates, as many calls deep as its argument says. */
public class Deep {
    public static void main(String[] arguments) {
        call(Integer.parseInt(arguments[0]));
    }

    static void call(int depth) {
        if (depth == 0) {
            new Deflater().end();
        } else {
            call(depth - 1);
        }
    }
}
