use clap::CommandFactory as _;

use super::*;

#[test]
fn the_command_line_fits_together() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_shows_examples() {
    fn check(command: &clap::Command) {
        if command.has_subcommands() {
            command.get_subcommands().for_each(check);
        } else {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:\n  hotcell "), "{}", command.get_name());
        }
    }
    check(&Cli::command());
}

#[test]
fn limits_out_of_range_are_wrong_usage() {
    assert_eq!(parse_memory("64KiB"), Ok(64 << 10));
    assert_eq!(parse_memory("4GiB"), Ok(4 << 30));
    assert_eq!(parse_fuel("1_000"), Ok(1_000));
    for bad in ["1KiB", "5GiB", "64", "-1MiB", ""] {
        assert!(parse_memory(bad).is_err(), "{bad}");
    }
    for bad in ["0", "-1", "+1", "_1", "1e6", "", "9223372036854775808"] {
        assert!(parse_fuel(bad).is_err(), "{bad}");
    }
    assert!(parse_timeout("25h").is_err() && parse_timeout("24h").is_ok() && parse_timeout("10").is_err());
}
