//! The observer of a client: captures exchanges while their bodies arrive.

use std::{io, sync::Arc};

use bytes::Bytes;
use http::StatusCode;
use instep_net::{BodyObserver, Exchange, ExchangeObserver};
use instep_warc::PayloadHasher;

use super::{
    captured::{ArrivedExchange, Captured},
    records::ArchiveRecords,
};

/// An observer that passes the exchanges of a client to an archive.
#[derive(Debug)]
pub(crate) struct ArchiveObserver {
    records: Arc<ArchiveRecords>,
}

impl ArchiveObserver {
    pub(super) fn new(records: Arc<ArchiveRecords>) -> Self {
        Self { records }
    }
}

impl ExchangeObserver for ArchiveObserver {
    fn answered(&self, exchange: Exchange<'_>) -> Box<dyn BodyObserver> {
        Box::new(Capturing {
            captured: Captured::new(&exchange, self.records.buffer()),
            hasher: PayloadHasher::default(),
            fault: None,
            records: Arc::clone(&self.records),
        })
    }
}

/// An exchange whose body is arriving.
struct Capturing {
    captured: Captured,
    hasher: PayloadHasher,
    /// The reason why the body could not be stored. The exchange is then left out, and the archive fails.
    fault: Option<io::Error>,
    records: Arc<ArchiveRecords>,
}

impl BodyObserver for Capturing {
    fn data(&mut self, data: &Bytes) {
        if self.captured.status == StatusCode::PARTIAL_CONTENT {
            return;
        }
        self.hasher.update(data);
        if self.fault.is_none() {
            self.fault = self.captured.push(data, self.records.folder()).err();
        }
    }

    fn ended(self: Box<Self>, is_whole: bool) {
        let Self { captured, hasher, fault, records } = *self;
        if let Some(error) = fault {
            return records.fail(error);
        }
        // An incomplete resource is requested again; of other answers the head is enough. A resource that arrives in
        // parts is archived when they are joined, because readers of archives do not join them.
        if !is_whole && captured.status.is_success() || captured.status == StatusCode::PARTIAL_CONTENT {
            return;
        }
        records.exchange(ArrivedExchange { captured, digest: hasher.finish(), is_whole });
    }
}
