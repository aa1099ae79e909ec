//! Tests of seats that several processes share.

use tokio::time::timeout;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn host() -> Origin {
    Origin::parse("http://host/").unwrap()
}

async fn waits(seats: &SharedSeats) -> bool {
    timeout(SECOND, seats.take(&host())).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn transfers_wait_for_a_grant_and_the_owner_hears_of_them() {
    let seats = SharedSeats::new();
    let waiting = tokio::spawn({
        let seats = seats.clone();
        async move { seats.take(&host()).await }
    });
    timeout(SECOND, seats.news()).await.unwrap();
    let demand = SeatDemand { origin: host(), wanted: 1, kept: 0, asked: None };
    assert_eq!(seats.demands(), std::slice::from_ref(&demand));
    assert_eq!(seats.grant(&host(), 2), 2);
    let first = waiting.await.unwrap();
    let second = seats.take(&host()).await;
    assert!(waits(&seats).await);
    assert_eq!(seats.demands()[0].wanted, 3, "one waited");
    drop((first, second));
    assert_eq!(seats.demands(), [SeatDemand { wanted: 2, kept: 2, ..demand }], "two were in use");
    assert_eq!(seats.grant(&host(), 0), 0);
    assert_eq!(seats.demands(), [], "a host that nobody uses is forgotten");
}

#[tokio::test(start_paused = true)]
async fn seats_in_use_are_kept_until_their_transfers_end_and_nobody_takes_them_then() {
    let seats = SharedSeats::new();
    seats.grant(&host(), 3);
    let [first, second] = [seats.take(&host()).await, seats.take(&host()).await];
    assert_eq!(seats.grant(&host(), 1), 2, "the free one goes at once");
    drop(first);
    timeout(SECOND, seats.news()).await.unwrap();
    assert!(waits(&seats).await);
    assert_eq!(seats.grant(&host(), 1), 1);
    drop(second);
    assert!(!waits(&seats).await);
    seats.revoke();
    assert!(waits(&seats).await);
    assert_eq!(seats.grant(&host(), 1), 1);
    assert!(!waits(&seats).await);
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_any_process_was_asked_for_is_kept() {
    let seats = SharedSeats::new();
    seats.grant(&host(), 4);
    seats.pause(&host(), 3 * SECOND);
    let began = Instant::now();
    drop(seats.take(&host()).await);
    assert_eq!(began.elapsed().as_secs(), 3);
    seats.asked(&host(), 5 * SECOND);
    seats.pause(&host(), SECOND);
    timeout(SECOND, seats.news()).await.unwrap();
    assert_eq!(seats.demands()[0].asked, Some(5 * SECOND));
    assert_eq!(seats.demands()[0].asked, None);
    drop(seats.take(&host()).await);
    assert_eq!(began.elapsed().as_secs(), 8);
}

#[tokio::test(start_paused = true)]
async fn o80_a_process_keeps_to_the_part_of_the_seats_that_it_has() {
    let seats = SharedSeats::new();
    assert_eq!(seats.part(&host()), 1.0, "nobody else is known");
    seats.grant(&host(), 2);
    seats.note_others(&host(), 6);
    assert_eq!(seats.part(&host()), 0.25);
    seats.note_others(&host(), 0);
    assert_eq!(seats.part(&host()), 1.0);
    seats.asked(&host(), SECOND);
    assert_eq!(seats.pauses_of_others(&host()), 0, "it was asked itself");
    seats.pause(&host(), SECOND);
    assert_eq!(seats.pauses_of_others(&host()), 1);
}
