//! One connection: hyper reads and writes it, and the client's time is watched.

use crate::answer::Answer;
use crate::clients::Client;
use crate::limits::Limits;
use crate::pieces::Pieces;
use crate::request::Request;
use crate::site::Site;
use hyper::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::sleep_until;

/// Serves a connection until it ends or its client's time is up.
pub(crate) async fn serve<S>(stream: S, client: Client, site: Arc<dyn Site>, limits: Limits)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let _left = Left(client.clone());
    let asked = client.clone();
    let service = service_fn(move |request| respond(request, asked.clone(), site.clone()));
    let connection = http1::Builder::new()
        .keep_alive(limits.keep_alive)
        // A browser that wants something else closes its connection, and does not wait for the rest.
        .half_close(false)
        .max_buf_size(Limits::REQUEST)
        .max_headers(Limits::HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let (mut connection, mut timer) = (pin!(connection), None);
    // What hyper does changes the state, so its end is asked for anew after each of its steps.
    poll_fn(|context| {
        // An error is the client's, who has had its answer from hyper if it can have one.
        if connection.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let Some(end) = client.end() else { return Poll::Pending };
        let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(end)));
        if timer.deadline() != end {
            timer.as_mut().reset(end);
        }
        timer.as_mut().poll(context)
    })
    .await;
}

/// Notes that a client has left, however its connection ends.
struct Left(Client);

impl Drop for Left {
    fn drop(&mut self) {
        self.0.leaves();
    }
}

/// Tells the thread that works an answer out that nobody waits for it any more.
struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        // Relaxed: a hint; no other data depends on it.
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn respond(
    request: hyper::Request<Incoming>,
    client: Client,
    site: Arc<dyn Site>,
) -> Result<Response<Pieces>, Infallible> {
    let request = Request::of(&request).and_then(|request| site.admit(&request).map(|()| request));
    let answer = match request {
        Ok(request) => {
            client.awaits();
            work(request, site).await
        }
        Err(refusal) => refusal,
    };
    client.takes();
    let (parts, pieces) = answer.response().into_parts();
    Ok(Response::from_parts(parts, pieces.of(client)))
}

/// Has a thread work the answer out.
async fn work(request: Request, site: Arc<dyn Site>) -> Answer {
    let gone = Gone(Arc::default());
    let has_left = gone.0.clone();
    let worked = tokio::task::spawn_blocking(move || {
        // Relaxed: as above.
        if has_left.load(Ordering::Relaxed) {
            return Answer::error(503, "cancelled");
        }
        site.answer(&request, &has_left)
    });
    worked.await.unwrap_or_else(|_| Answer::error(500, "the answer could not be worked out"))
}
