//! Which features of the processor compiled code may use.
//!
//! The engine's own fingerprint covers the features it found when it was made, and loading refuses code that needs a
//! feature the machine lacks. Both are the engine's promises about its own internals; this list is ours, so that
//! a cache that was moved to another machine is a miss even if one of them is broken by an update.

/// Those of the features the compiler knows that this processor has, in a fixed order.
pub(crate) fn features() -> String {
    let found: Vec<&str> = known().into_iter().filter(|(_, found)| *found).map(|(name, _)| name).collect();
    found.join(",")
}

/// The features the compiler asks for on this architecture, and whether they are there.
#[cfg(target_arch = "x86_64")]
fn known() -> Vec<(&'static str, bool)> {
    macro_rules! detect {
        ($($name:tt),+) => { vec![$(($name, std::arch::is_x86_feature_detected!($name))),+] };
    }
    detect!(
        "cmpxchg16b",
        "sse3",
        "ssse3",
        "sse4.1",
        "sse4.2",
        "popcnt",
        "lzcnt",
        "bmi1",
        "bmi2",
        "fma",
        "avx",
        "avx2",
        "avxvnni",
        "avx512f",
        "avx512dq",
        "avx512vl",
        "avx512bitalg",
        "avx512vbmi",
        "avx512vnni"
    )
}

/// The features the compiler asks for on this architecture, and whether they are there.
#[cfg(target_arch = "aarch64")]
fn known() -> Vec<(&'static str, bool)> {
    macro_rules! detect {
        ($($name:tt),+) => { vec![$(($name, std::arch::is_aarch64_feature_detected!($name))),+] };
    }
    detect!("lse", "paca", "fp16", "dotprod", "i8mm")
}

/// None is known for this architecture; the engine's own fingerprint has to do.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn known() -> Vec<(&'static str, bool)> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_features_are_those_the_system_shows_and_do_not_change() {
        let found = features();
        assert_eq!(found, features());
        #[cfg(target_arch = "x86_64")]
        {
            let shown = std::fs::read_to_string("/proc/cpuinfo").unwrap();
            let has = |flag: &str| shown.split_whitespace().any(|word| word == flag);
            for (name, flag) in
                [("avx2", "avx2"), ("avx512f", "avx512f"), ("sse4.2", "sse4_2"), ("bmi2", "bmi2")]
            {
                assert_eq!(found.split(',').any(|known| known == name), has(flag), "{name}: {found}");
            }
        }
    }
}
