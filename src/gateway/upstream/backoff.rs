//! When to try a server again that could not be reached.

use std::time::Duration;

/// Pauses after the first failures; then doubling from a minute to half an hour.
const FIRST_PAUSES: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30)];
const FIRST_LONG_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(30 * 60);

/// A connection that lived this long clears the record: its server works.
pub(super) const PROVEN_AFTER: Duration = Duration::from_secs(60);

/// The pause after `failures` failures in a row; `failures` is at least 1.
pub(super) fn pause_after(failures: u32) -> Duration {
    let step = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
    FIRST_PAUSES.get(step).copied().unwrap_or_else(|| {
        let doublings = u32::try_from(step - FIRST_PAUSES.len()).unwrap_or(u32::MAX).min(10);
        (FIRST_LONG_PAUSE * 2_u32.pow(doublings)).min(LONGEST_PAUSE)
    })
}

#[cfg(test)]
mod tests {
    use super::pause_after;

    #[test]
    fn pauses_grow_to_half_an_hour_and_no_further() {
        let pauses: Vec<u64> = (1..=10).map(|failures| pause_after(failures).as_secs()).collect();
        assert_eq!(pauses, [1, 5, 30, 60, 120, 240, 480, 960, 1800, 1800]);
        assert_eq!(pause_after(u32::MAX).as_secs(), 1800);
    }
}
