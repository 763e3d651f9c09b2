"""Takes what is posted to it, and behaves as it is told.

    receives_profiles.py FOLDER PORT BEHAVIOURS [CERTIFICATE KEY]

Behaviours are for one request each, and the last one for all that follow: a status code, or cut, silent, slow, huge,
endless or redirect=URL. Accepted requests become NUMBER.json and NUMBER.body in the folder; `port` there says that it
listens, `log` has a line for each request. With AUTHORIZATION in the environment others get 401."""

import gzip, http.server, json, os, pathlib, socket, ssl, sys, threading, time

folder, port, behaviours = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split(",")
wanted = os.environ.get("AUTHORIZATION")
lock = threading.Lock()


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        with lock:
            behaviour = behaviours.pop(0) if len(behaviours) > 1 else behaviours[0]
        length = int(self.headers["Content-Length"])
        if behaviour == "cut":
            self.rfile.read(length // 2)
            self.note(behaviour)
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        body = self.rfile.read(length)
        if wanted and self.headers["Authorization"] != wanted:
            behaviour = "401"
        self.note(behaviour)
        if behaviour == "silent":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif behaviour == "slow":
            time.sleep(600)
        elif behaviour == "endless":
            self.endless(b"HTTP/1.1 200 OK\r\n", b"X-Filler: " + b"x" * 1000 + b"\r\n")
        elif behaviour == "huge":
            self.endless(b"HTTP/1.1 503 Busy\r\nConnection: close\r\n\r\n", b"x" * 100_000)
        elif behaviour.startswith("redirect="):
            self.answer(307, "moved", {"Location": behaviour.removeprefix("redirect=")})
        elif behaviour == "200":
            self.keep(body)
            self.answer(200, "")
        else:
            self.answer(int(behaviour), "wrong token\nand more" if behaviour == "401" else "busy")

    def endless(self, begin, rest):
        self.close_connection = True
        try:
            self.wfile.write(begin)
            while True:
                self.wfile.write(rest)
        except OSError:
            self.note("left")

    def note(self, what):
        with lock, open(folder / "log", "a") as log:
            log.write(f"{what} {self.headers['Idempotency-Key']}\n")

    def keep(self, body):
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        with lock:
            number = len(list(folder.glob("*.json")))
            (folder / f"{number:04}.body").write_bytes(body)
            head = {"path": self.path, "headers": {name.lower(): value for name, value in self.headers.items()}}
            (folder / "half").write_text(json.dumps(head))
            os.rename(folder / "half", folder / f"{number:04}.json")

    def answer(self, code, text, more={}):
        self.send_response(code)
        for name, value in more.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver)
server.daemon_threads = True
server.handle_error = lambda *_: None
if len(sys.argv) > 5:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[4], sys.argv[5])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
(folder / "port.half").write_text(str(server.server_port))
os.rename(folder / "port.half", folder / "port")
server.serve_forever()
