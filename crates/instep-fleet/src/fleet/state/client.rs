//! The client that all looks of a fleet share, and the options that make another one.

use std::{fs, os::unix::fs::MetadataExt as _};

use instep_destination::{AccessOptions, Client};
use instep_net::{RequestGate, SharedSeats};

use crate::{FleetError, options::FleetOptions};

/// The inode and the length of a file of certificates, and its times of modification and of change.
type CertificateStamp = (u64, u64, [(i64, i64); 2]);

/// A client whose connections and limits all looks share.
#[derive(Clone)]
pub(in crate::fleet) struct FleetClient {
    pub(super) client: Client,
    /// The file of certificates from which it was made; `None` if none was named.
    certificates: Option<CertificateStamp>,
}

impl FleetClient {
    /// Makes a client for these options.
    pub(super) fn new(
        options: &FleetOptions,
        gate: &RequestGate,
        seats: Option<&SharedSeats>,
    ) -> Result<Self, FleetError> {
        // The stamp comes first, so that a file which changes while it is read is read again.
        let certificates = certificates(&options.access);
        // Only looks send requests, each within its own scope, so the scope of the shared client allows nothing.
        let mut http = options.access.http_options("file:")?;
        (http.gate, http.seats) = (Some(gate.clone()), seats.cloned());
        // The parallel requests to a host are limited over all looks, and over all workers.
        http.streams = http.per_host;
        Ok(Self { client: Client::new(http)?, certificates })
    }

    /// Returns `true` if `next` would make the same client as `present`, from which this one was made.
    pub(super) fn is_still_right(&self, present: &AccessOptions, next: &AccessOptions) -> bool {
        let found = certificates(next);
        // A file that cannot be read has its error from the attempt to make a client.
        let has_same_certificates = found == self.certificates && found.is_some() == next.ca_file.is_some();
        has_same_certificates && have_same_client(present, next)
    }
}

/// Returns `true` if both options make the same client of the same certificates.
fn have_same_client(one: &AccessOptions, other: &AccessOptions) -> bool {
    let limits = |access: &AccessOptions| {
        (access.transfers, access.per_host, access.rate, access.bwlimit, access.timeout)
    };
    let ways = [one, other].map(|access| (&access.proxy, &access.ca_file, &access.user_agent));
    limits(one) == limits(other) && ways[0] == ways[1]
}

/// Returns the stamp of the file of certificates; `None` if none is named, or it cannot be read.
fn certificates(access: &AccessOptions) -> Option<CertificateStamp> {
    let file = fs::metadata(access.ca_file.as_ref()?).ok()?;
    let times = [(file.mtime(), file.mtime_nsec()), (file.ctime(), file.ctime_nsec())];
    Some((file.ino(), file.len(), times))
}
