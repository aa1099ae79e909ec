//! Changes that suppliers report of their resources.

use std::sync::mpsc;

use super::{message::LiveMessage, settle::Touch};
use crate::{
    Publisher,
    content::{ChangeReporter, ReportedPath},
};

/// Gives each supplier a reporter. Suppliers report whether folders are watched or not.
pub(super) fn watch_suppliers(publisher: &Publisher, messages: &mpsc::SyncSender<LiveMessage>) {
    for root in publisher.holdings().roots() {
        if let Some(supply) = &root.supply {
            let messages = messages.clone();
            let report = move |reported| match reported {
                ReportedPath::One(path) => {
                    if messages.try_send(LiveMessage::Touched(path, Touch::Whole)).is_err() {
                        let _ = messages.send(LiveMessage::ScanEverything);
                    }
                }
                ReportedPath::Everything => drop(messages.send(LiveMessage::ScanEverything)),
            };
            supply.0.watch(ChangeReporter::new(&root.folder(), report));
        }
    }
}
