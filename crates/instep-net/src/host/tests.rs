//! Tests of a host: limits that several processes share, and its pace.

use super::*;
use crate::{pool::KeptConnections, seating::Seating};

fn host(seats: &SharedSeats) -> Arc<Host> {
    let limits = HostLimits {
        per_host: 8,
        streams: 8,
        most_idle: 8,
        rate: None,
        adaptive: true,
        seats: Some(seats.clone()),
        kept: Arc::new(KeptConnections::new(8)),
    };
    Arc::new(Host::new(Origin::parse("http://host/").unwrap(), &limits))
}

#[tokio::test(start_paused = true)]
async fn o79_a_host_that_has_too_much_to_do_and_names_no_pause_rests_and_narrows_for_all_processes() {
    let (asked, other) = (SharedSeats::new(), SharedSeats::new());
    let host_of_asked = host(&asked);
    host_of_asked.overloaded(StatusCode::SERVICE_UNAVAILABLE, None);
    let told: Vec<_> = asked.demands().into_iter().filter_map(|demand| demand.asked).collect();
    assert_eq!(told, [Host::UNSAID], "its owner passes that on");

    let host_of_other = host(&other);
    let before = host_of_other.take_traffic().most_transfers;
    other.grant(host_of_other.origin(), 8);
    other.pause(host_of_other.origin(), Host::UNSAID);
    let (began, seating) = (Instant::now(), Seating::new(8));
    drop(host_of_other.admit(&seating).await.unwrap());
    assert_eq!(began.elapsed(), Host::UNSAID);
    let after = host_of_other.take_traffic().most_transfers;
    assert!(after < before, "{after} of {before} transfers");
    drop(host_of_other.admit(&seating).await.unwrap());
    assert_eq!(host_of_other.take_traffic().most_transfers, after, "once for each rest");
}

#[tokio::test(start_paused = true)]
async fn o560_the_pace_of_a_host_is_remembered_while_it_gets_no_requests() {
    let host = host(&SharedSeats::new());
    assert!(host.close_idle());
    host.keep_pause(Duration::from_secs(10));
    tokio::time::advance(Duration::from_secs(600)).await;
    assert!(!host.close_idle());
    tokio::time::advance(Duration::from_secs(7_200)).await;
    assert!(host.close_idle());
}

#[tokio::test(start_paused = true)]
async fn o858_transfers_that_wait_for_the_pace_of_a_host_wait_for_its_pause_too() {
    let seats = SharedSeats::new();
    let (host, seating) = (host(&seats), Seating::new(8));
    seats.grant(host.origin(), 8);
    host.keep_pause(Duration::from_secs(10));
    drop(host.admit(&seating).await.unwrap());
    let began = Instant::now();
    let waiting = async {
        drop(host.admit(&seating).await.unwrap());
        began.elapsed()
    };
    let pause = Duration::from_secs(60);
    let pausing = async { host.overloaded(StatusCode::SERVICE_UNAVAILABLE, Some(pause)) };
    let (waited, ()) = tokio::join!(waiting, pausing);
    assert!(waited >= pause, "{waited:?}");
}
