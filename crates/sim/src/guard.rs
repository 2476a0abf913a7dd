//! A panic in the engine is a bug of ours. It ends its own run with a message; the process and its other runs
//! go on.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether this thread is inside [`caught`].
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    /// What the panic said, and where.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `f`; a panic in it becomes an error that says what happened and where.
///
/// What `f` has borrowed must not be used after an error, since it may be half done.
///
/// # Errors
/// The panic's message and place.
pub fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if GUARDED.get() {
                let at = info.location().map(|at| format!(" ({}:{})", at.file(), at.line()));
                let text = message(info.payload()) + &at.unwrap_or_default();
                SAID.set(Some(text));
            } else {
                others(info);
            }
        }));
    });
    let outer = GUARDED.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(f));
    GUARDED.set(outer);
    result.map_err(|payload| SAID.take().unwrap_or_else(|| message(&*payload)))
}

/// The text of a panic, which is a string unless somebody threw something else.
fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_message_and_place() {
        let error = caught(|| -> u32 { panic!("{} is not {}", 1, 2) }).expect_err("it panics");
        assert!(error.starts_with("1 is not 2 ("), "{error}");
        assert!(error.contains("guard.rs:"), "{error}");
        let error = caught(|| -> u32 { std::hint::black_box(None).expect("there is one") })
            .expect_err("it panics");
        assert!(error.starts_with("there is one"), "{error}");
    }

    #[test]
    fn what_does_not_panic_gives_its_value_and_a_panic_leaves_nothing_behind() {
        assert!(caught(|| panic!("once")).is_err());
        assert_eq!(caught(|| 7), Ok(7));
    }

    #[test]
    fn threads_do_not_see_one_anothers_panics() {
        let threads: Vec<_> = (0..8)
            .map(|i| std::thread::spawn(move || caught(|| assert!(i % 2 == 0, "thread {i}"))))
            .collect();
        for (i, thread) in threads.into_iter().enumerate() {
            match thread.join().expect("caught") {
                Ok(()) => assert!(i % 2 == 0),
                Err(error) => assert!(error.starts_with(&format!("thread {i}")), "{error}"),
            }
        }
    }
}
