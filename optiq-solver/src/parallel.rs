//! Two threads for what falls into two halves.

use std::thread;

/// `make` of `items`, or of their halves on two threads if that is `worth` it. The results belong one behind the other;
/// what is made of them must not depend on where the items were cut.
pub(crate) fn in_two<T: Sync, R: Send>(items: &[T], worth: bool, make: impl Fn(&[T]) -> R + Sync) -> (R, Option<R>) {
    let two_processors = || thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    if !worth || items.len() < 2 || !two_processors() {
        return (make(items), None);
    }
    let (first, second) = items.split_at(items.len() / 2);
    thread::scope(|scope| {
        let other = scope.spawn(|| make(second));
        let mine = make(first);
        match other.join() {
            Ok(theirs) => (mine, Some(theirs)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
