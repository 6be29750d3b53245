//! Use of the machine by other processes during a measurement.

use std::fs;
use std::time::Duration;

/// Unit in which the kernel counts processor time, on every machine that Rust runs on.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// Share of the machine in use by others above which a report calls a cell disturbed. The kernel's
/// own threads count as others, and writing back pages takes a few hundredths.
pub(crate) const DISTURBED: f64 = 0.15;

/// Processor time of the whole machine at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moment {
    busy_ticks: u64,
    all_ticks: u64,
}

impl Moment {
    pub(crate) fn now() -> Moment {
        parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// The share of the machine, 0 to 1, that others have used since this moment. `known` is the
    /// processor time of the benchmark and its targets.
    pub(crate) fn disturbance_since(self, now: Moment, known: Duration) -> f64 {
        let all = now.all_ticks.saturating_sub(self.all_ticks);
        let busy = now.busy_ticks.saturating_sub(self.busy_ticks);
        let known = known.as_secs_f64() / TICK.as_secs_f64();
        // Each process is rounded to ticks by itself, so a few ticks say nothing.
        if all < 20 { 0.0 } else { ((busy as f64 - known - 3.0) / all as f64).max(0.0) }
    }
}

fn parse(stat: &str) -> Moment {
    let line = stat.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = line.split_whitespace().skip(1).flat_map(str::parse).take(8).collect();
    // user nice system idle iowait irq softirq steal; time of guests is part of user.
    let all = ticks.iter().sum();
    let idle = ticks.iter().skip(3).take(2).sum::<u64>();
    Moment { busy_ticks: all - idle, all_ticks: all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_that_nobody_accounts_for_disturbs() {
        let before = parse("cpu  100 0 100 1000 50 0 0 0 0 0\ncpu0 1 2 3");
        let after = parse("cpu  200 0 160 1200 90 0 0 0 0 0");
        assert_eq!(before, Moment { busy_ticks: 200, all_ticks: 1250 });
        // 160 of 400 ticks were busy.
        let others =
            |ticks: u64| before.disturbance_since(after, Duration::from_millis(ticks * 10));
        assert!((others(57) - 0.25).abs() < 1e-9);
        assert_eq!(others(160), 0.0);
        assert_eq!(others(500), 0.0);
    }

    #[test]
    fn a_moment_too_short_to_count_is_quiet() {
        let moment = parse("cpu  100 0 100 1000 50 0 0 0 0 0");
        assert_eq!(moment.disturbance_since(moment, Duration::ZERO), 0.0);
    }
}
