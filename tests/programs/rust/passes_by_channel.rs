//! Sends boxes from three threads through a channel to one that drops them, and their replies through another one
//! without room: `passes_by_channel BOXES`.

use std::sync::mpsc;
use std::thread;

fn main() {
    let count: usize = std::env::args().nth(1).and_then(|count| count.parse().ok()).expect("a number of boxes");
    let (sender, receiver) = mpsc::channel::<Vec<u8>>();
    let (replier, replies) = mpsc::sync_channel::<Box<usize>>(0);
    let senders: Vec<_> = (0..3)
        .map(|_| {
            let sender = sender.clone();
            thread::spawn(move || {
                for number in 0..count {
                    sender.send(vec![1; 16 + number % 100]).expect("there is a receiver");
                }
            })
        })
        .collect();
    drop(sender);
    let reader = thread::spawn(move || replies.into_iter().map(|reply| *reply).sum::<usize>());
    for (number, bytes) in receiver.into_iter().enumerate() {
        let length = bytes.len();
        drop(bytes);
        if number % 16 == 0 {
            replier.send(Box::new(length)).expect("there is a reader");
        }
    }
    drop(replier);
    senders.into_iter().for_each(|sender| sender.join().expect("it does not panic"));
    reader.join().expect("it does not panic");
}
