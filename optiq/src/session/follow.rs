//! What a session does with the load of links that it measures (`load.rs`), between its agreement and its plan.

use super::load::{LoadFollower, News};
use super::planning::Planning;
use super::plans::{Cause, Entry, Key};
use super::setup::Fabric;
use super::state::Session;
use crate::busy_links::BusyLink;
use crate::error::Error;
use optiq_net::Network;
use optiq_solver::Demand;
use std::rc::Rc;
use std::sync::Arc;

impl Fabric {
    /// The network with what is left of its links.
    pub(super) fn left(&self) -> Arc<Network> {
        self.load.as_ref().map_or_else(|| Arc::clone(&self.network), LoadFollower::left)
    }

    /// The key of a demand set on what is left of the links.
    pub(super) fn key_on_left(&self, key: Key) -> Key {
        self.load.as_ref().map_or(key, |load| load.key_on_left(key))
    }

    /// The planned paths that served the same demands before the last change of the load; the same on all ranks.
    pub(super) fn before_load(&self, key: Key) -> Option<Rc<Entry>> {
        self.load.as_ref()?.before(key)
    }

    /// A plan that was made beforehand for this key.
    pub(super) fn prepared(&self, key: Key) -> Option<Vec<u8>> {
        self.load.as_ref()?.prepared(key)
    }
}

impl Session {
    /// What rank 0 has to say before a call.
    pub(super) fn news(&self) -> News {
        let Ok(fabric) = &self.fabric else { return News::default() };
        fabric.load.as_ref().map_or_else(News::default, |load| load.news(&fabric.placement))
    }

    /// Does what rank 0 has told; collective.
    pub(super) fn follow_load(&self, fabric: &Fabric, news: News) -> Result<(), Error> {
        let Some(load) = &fabric.load else { return Ok(()) };
        if news.look {
            load.look(&self.comm, &fabric.placement, || self.planning(fabric))?;
        }
        if news.probe {
            load.probe(&self.comm, || self.planning(fabric))?;
        }
        if news.take_over {
            load.take_over(&self.comm)?;
            // What was measured of planned paths was measured beside another load.
            self.plans.borrow_mut().begin_trials_anew();
        }
        Ok(())
    }

    /// Planning on what is left of the links.
    pub(super) fn planning(&self, fabric: &Fabric) -> Planning {
        Planning {
            network: fabric.left(),
            model: fabric.model,
            config: self.config.clone(),
            forwarders: fabric.placement.can_forward(),
            bases: self.plans.borrow().bases(),
        }
    }

    /// What rank 0 sends out: the time it took, a tag, then the reason for plain MPI or the plan.
    pub(super) fn plan_on_rank_0(&self, fabric: &Fabric, demands: &[Demand], cause: &Cause) -> Result<Vec<u8>, Error> {
        self.planning(fabric).run(demands, cause).map(|planned| planned.bytes)
    }

    /// The links that are taken for busy, where load is measured (`OPTIQ_BACKGROUND=measure`); known on rank 0 only, empty elsewhere.
    pub fn busy_links(&self) -> Vec<BusyLink> {
        self.fabric.as_ref().ok().and_then(|f| f.load.as_ref()).map_or_else(Vec::new, LoadFollower::busy)
    }
}
