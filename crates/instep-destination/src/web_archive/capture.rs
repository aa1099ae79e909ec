//! The observer of a client: captures exchanges while their bodies arrive.

use std::{io, sync::Arc};

use bytes::Bytes;
use http::StatusCode;
use instep_net::{BodyObserver, Exchange, ExchangeObserver};
use instep_warc::PayloadHasher;

use super::{
    captured::{Captured, CapturedBody},
    orders::{ArchiveOrder, Orders},
};

/// An observer that passes the exchanges of a client to an archive.
#[derive(Debug)]
pub(crate) struct ArchiveObserver {
    orders: Arc<Orders>,
}

impl ArchiveObserver {
    pub(super) fn new(orders: Arc<Orders>) -> Self {
        Self { orders }
    }
}

impl ExchangeObserver for ArchiveObserver {
    fn answered(&self, exchange: Exchange) -> Box<dyn BodyObserver> {
        Box::new(Capturing::new(exchange, Arc::clone(&self.orders)))
    }
}

/// An exchange whose body is arriving.
pub(super) struct Capturing {
    exchange: Exchange,
    body: CapturedBody,
    hasher: PayloadHasher,
    /// The reason why the body could not be stored. The exchange is then left out, and the archive fails.
    fault: Option<io::Error>,
    orders: Arc<Orders>,
}

impl Capturing {
    pub(super) fn new(exchange: Exchange, orders: Arc<Orders>) -> Self {
        let (body, hasher) = (CapturedBody::default(), PayloadHasher::default());
        Self { exchange, body, hasher, fault: None, orders }
    }
}

impl BodyObserver for Capturing {
    fn data(&mut self, data: &Bytes) {
        if self.exchange.status == StatusCode::PARTIAL_CONTENT {
            return;
        }
        self.hasher.update(data);
        if self.fault.is_none() {
            self.fault = self.body.push(data, self.orders.folder()).err();
        }
    }

    fn ended(self: Box<Self>, is_whole: bool) {
        let Self { exchange, body, hasher, fault, orders } = *self;
        if let Some(error) = fault {
            return orders.send(ArchiveOrder::Failed(error));
        }
        // An incomplete resource is requested again; of other answers the head is enough. A resource that arrives in
        // parts is archived when they are joined, because readers of archives do not join them.
        if !is_whole && exchange.status.is_success() || exchange.status == StatusCode::PARTIAL_CONTENT {
            return;
        }
        let captured = Captured { exchange, body, digest: hasher.finish(), is_whole };
        orders.send(ArchiveOrder::Exchange(Box::new(captured)));
    }
}
