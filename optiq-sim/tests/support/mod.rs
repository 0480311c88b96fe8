//! What several tests of simulations need.

use optiq_sim::{Delivery, Host, Notice, Program};

/// Sends one message at once.
pub struct One {
    pub to: u32,
    pub bytes: u64,
}

impl Program for One {
    fn start(&mut self, host: &mut Host<'_>) {
        host.send(self.to, self.bytes, 7, Notice::None);
    }

    fn received(&mut self, _: &mut Host<'_>, _: Delivery) {}
}
