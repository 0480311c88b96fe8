//! Independent work, dealt out to threads: whoever is free takes the next piece.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

/// What `work` gives for each of `count` numbers, in their order, by at most `threads` threads. Work begins in the order of
/// the numbers.
pub fn in_parallel<R: Send>(threads: usize, count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let found = Mutex::new(Vec::with_capacity(count));
    let next = AtomicUsize::new(0);
    let take = || {
        loop {
            let number = next.fetch_add(1, SeqCst);
            if number >= count {
                return;
            }
            let result = work(number);
            found.lock().push((number, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.clamp(1, count.max(1)) {
            scope.spawn(take);
        }
        take();
    });
    let mut found = found.into_inner();
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_with_any_number_of_threads() {
        for threads in [0, 1, 3, 20] {
            assert_eq!(in_parallel(threads, 10, |n| n * n), (0..10).map(|n| n * n).collect::<Vec<_>>());
        }
        assert_eq!(in_parallel(2, 0, |n| n), Vec::<usize>::new());
    }
}
