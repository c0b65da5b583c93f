use super::*;

#[test]
fn a_failure_carries_all_that_was_said() {
    let failure = Failure::rate_limited("slow down")
        .code("burst")
        .advice("ask for less")
        .retry_after(Duration::from_millis(1500))
        .effect_possible();
    assert_eq!(
        failure,
        Failure {
            fault: Fault::RateLimited,
            code: Some("burst".into()),
            message: "slow down".into(),
            advice: Some("ask for less".into()),
            retry_after: Some(Duration::from_millis(1500)),
            effect_possible: true,
        }
    );
}

#[test]
fn the_fault_of_an_io_error_follows_from_its_kind() {
    let table = [
        (io::ErrorKind::NotFound, Fault::NotFound),
        (io::ErrorKind::PermissionDenied, Fault::Denied),
        (io::ErrorKind::IsADirectory, Fault::Conflict),
        (io::ErrorKind::StorageFull, Fault::Unavailable),
        (io::ErrorKind::Other, Fault::Internal),
    ];
    for (kind, fault) in table {
        let failure = Failure::from(io::Error::new(kind, "the disk says no"));
        assert_eq!((failure.fault, failure.message.as_str()), (fault, "the disk says no"));
    }
}

#[test]
fn the_texts_of_faults_are_their_names_in_snake_case() {
    for fault in [Fault::InvalidInput, Fault::NotFound, Fault::RateLimited, Fault::Internal] {
        let debug = format!("{fault:?}").to_lowercase();
        assert_eq!(fault.to_string().replace('_', ""), debug);
    }
}
