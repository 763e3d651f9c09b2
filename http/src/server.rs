//! The thread of all connections.

use crate::clients::Clients;
use crate::connection;
use crate::limits::Limits;
use crate::listener::{Listener, Socket};
use crate::site::Site;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// Pause after a failure that passes by itself, as when this process may open no more files.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a thread of the site stays without work.
const IDLE: Duration = Duration::from_secs(5);

/// A server in a thread of its own, which ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts serving.
    ///
    /// # Errors
    /// When the system gives no thread, or the socket cannot be used.
    pub fn start(listener: Listener, site: Arc<dyn Site>, limits: Limits) -> io::Result<Server> {
        let runtime = runtime(limits)?;
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new().name("http".to_owned()).spawn(move || {
            // It fails only if the socket cannot be used at all, and then nobody can connect.
            let _ = run(runtime, listener, site, limits, stopped);
        })?;
        Ok(Server { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has no result.
            let _ = thread.join();
        }
    }
}

/// Serves in this thread, for ever.
///
/// # Errors
/// When the listening socket cannot be used.
pub fn serve(listener: Listener, site: Arc<dyn Site>, limits: Limits) -> io::Result<()> {
    let (_never, stopped) = oneshot::channel();
    run(runtime(limits)?, listener, site, limits, stopped)
}

fn runtime(limits: Limits) -> io::Result<Runtime> {
    let mut builder = Builder::new_current_thread();
    builder.enable_io().enable_time().thread_name("http answer").thread_keep_alive(IDLE);
    builder.max_blocking_threads(limits.threads).build()
}

/// Serves until `stopped` has its end. Answers that are being worked out are not waited for.
fn run(
    runtime: Runtime,
    listener: Listener,
    site: Arc<dyn Site>,
    limits: Limits,
    stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    let served = runtime.block_on(async {
        // The name of a socket lives as long as the socket.
        let (mut accepting, _path): (Box<dyn Future<Output = ()> + Unpin>, _) = match listener.socket {
            Socket::Tcp(socket) => {
                let socket = TcpListener::from_std(socket)?;
                let accept = async move || socket.accept().await.map(|(stream, _)| stream);
                (Box::new(Box::pin(accept_all(accept, site, limits))), None)
            }
            Socket::Unix(socket, path) => {
                let socket = UnixListener::from_std(socket)?;
                let accept = async move || socket.accept().await.map(|(stream, _)| stream);
                (Box::new(Box::pin(accept_all(accept, site, limits))), Some(path))
            }
        };
        let mut stopped = pin!(stopped);
        std::future::poll_fn(|context| match stopped.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(()),
            Poll::Pending => std::pin::Pin::new(&mut accepting).poll(context),
        })
        .await;
        Ok(())
    });
    runtime.shutdown_background();
    served
}

/// Accepts connections for ever.
async fn accept_all<S>(accept: impl AsyncFn() -> io::Result<S>, site: Arc<dyn Site>, limits: Limits)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let clients = Clients::new(limits);
    loop {
        clients.room().await;
        match accept().await {
            Ok(stream) => {
                let client = clients.add();
                let served = connection::serve(stream, client.clone(), site.clone(), limits);
                client.runs_in(tokio::spawn(served).abort_handle());
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(_) => {
                // Usually out of descriptors; some are freed when connections end.
                clients.make_room();
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
