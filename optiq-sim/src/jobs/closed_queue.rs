//! The closed queue: clients that think, and servers that all of them need.
//!
//! `N` clients think for a time `Z` each, then ask one of `M` servers, each as often, which takes `S` for a request if it has
//! no other. In a cycle a client spends `Z + R`, where `R` is the response time; the throughput of a server is
//! `X = N / (M (Z + R))` (J. Little's law).
//!
//! *Shared servers*, as links are that all requests share fairly, whatever the distribution of their sizes and of think
//! times, and servers of one request at a time whose service times are exponentially distributed: exact mean-value analysis
//! (M. Reiser and S. Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", Journal of the ACM 27(2), 1980;
//! that sizes do not matter: F. Baskett, K. Chandy, R. Muntz and F. Palacios, "Open, Closed, and Mixed Networks of Queues with
//! Different Classes of Customers", Journal of the ACM 22(2), 1975). With `Q(0) = 0`, for `n = 1 ... N`:
//!
//! ```text
//!     R(n) = S (1 + Q(n - 1))        X(n) = n / (M (Z + R(n)))        Q(n) = X(n) R(n)
//! ```
//!
//! *One request at a time*, service and think times all alike, one server: once in step no request waits while `Z >= (N - 1) S`,
//! and else the server is never idle, so
//!
//! ```text
//!     R = max(S, N S / M - Z)        X = min(N / (M (Z + S)), 1 / S)
//! ```
//!
//! which is also the lower bound on `R` of any closed queue with these means (P. Denning and J. Buzen, "The Operational Analysis of
//! Queueing Network Models", ACM Computing Surveys 10(3), 1978). Its corner, `Z* = (N / M - 1) S`, is the congestion threshold.
//! `N` need not be whole, as in 8.5 clients of one server: between two whole numbers `R` is interpolated linearly.
//!
//! What none of this sees: clients of a shared link that take servers in turn, all with the same think time, end together, go on
//! together and stay together. Such convoys leave other servers idle. Jitter dissolves them.

/// A closed queue. Times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosedQueue {
    /// Clients, above zero.
    pub clients: f64,
    /// Servers, at least 1, each of which a client takes as often.
    pub servers: u32,
    /// The think time, from an answer to the next request.
    pub think_seconds: f64,
    /// How long the server takes for a request, above zero.
    pub service_seconds: f64,
    /// How requests are served.
    pub service: Service,
}

/// How requests are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// One at a time; all take as long, and think times are all alike.
    Deterministic,
    /// All that are there at once, as a link does; or one at a time with exponentially distributed service times.
    Shared,
}

/// What is found of a closed queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueFigures {
    /// The response time in seconds: waiting and service.
    pub response_seconds: f64,
    /// Requests per second at a server.
    pub throughput: f64,
    /// The part of the time in which a server is busy.
    pub utilisation: f64,
}

/// More clients are not computed one by one: the server is busy all the time.
const MOST_CLIENTS: f64 = 1e7;

impl ClosedQueue {
    /// The think time below which servers are busy all the time, if nothing varies: `(N / M - 1) S`.
    pub fn threshold_seconds(&self) -> f64 {
        (self.per_server() - 1.0).max(0.0) * self.service_seconds
    }

    fn per_server(&self) -> f64 {
        self.clients / f64::from(self.servers.max(1))
    }

    /// Response time, throughput, utilisation.
    pub fn figures(&self) -> QueueFigures {
        let response_seconds = match self.service {
            Service::Deterministic => {
                let Self { think_seconds, service_seconds, .. } = *self;
                service_seconds.max(self.per_server() * service_seconds - think_seconds)
            }
            Service::Shared => self.mean_value_analysis(),
        };
        // Of a part of a client there is no more than a part of its requests.
        let throughput = self.per_server() / (self.think_seconds + response_seconds);
        let utilisation = (throughput * self.service_seconds).min(1.0);
        QueueFigures { response_seconds, throughput, utilisation }
    }

    fn mean_value_analysis(&self) -> f64 {
        let Self { clients, think_seconds, service_seconds, .. } = *self;
        if clients >= MOST_CLIENTS {
            return self.per_server() * service_seconds - think_seconds;
        }
        let servers = f64::from(self.servers.max(1));
        let (mut queue, mut response) = (0.0, service_seconds);
        let mut below = response;
        for n in 1..=(clients.ceil() as u64).max(1) {
            below = response;
            response = service_seconds * (1.0 + queue);
            queue = n as f64 / servers / (think_seconds + response) * response;
        }
        let part = if clients < 1.0 { 1.0 } else { clients.fract() };
        if part == 0.0 { response } else { below + part * (response - below) }
    }

    /// The same queue with a throttle's window from completion to start: the think time is at least that.
    pub fn throttled(&self, window_seconds: f64) -> Self {
        Self { think_seconds: self.think_seconds.max(window_seconds), ..*self }
    }

    /// By which factor a throttle's window, from completion to start, makes a client's cycle longer, and with it all that a
    /// client has to do.
    pub fn cost_of_window(&self, window_seconds: f64) -> f64 {
        let cycle = |queue: Self| queue.think_seconds + queue.figures().response_seconds;
        cycle(self.throttled(window_seconds)) / cycle(*self)
    }

    /// The shortest window, from completion to start, with which the server is busy for at most this part of the time: so
    /// much of its link is left to others. Zero if it is not busier without one; `None` for a part that is not above 0 and
    /// at most 1.
    pub fn window_for_utilisation(&self, utilisation: f64) -> Option<f64> {
        if !(utilisation > 0.0 && utilisation <= 1.0) {
            return None;
        }
        let busy = |window: f64| self.throttled(window).figures().utilisation;
        if busy(0.0) <= utilisation {
            return Some(0.0);
        }
        // With this window the server is as busy as that even if no request waits. Utilisation falls with the window.
        let (mut low, mut high) = (0.0, self.per_server() * self.service_seconds / utilisation);
        for _ in 0..200 {
            let middle = low + (high - low) / 2.0;
            if busy(middle) > utilisation { low = middle } else { high = middle }
        }
        Some(high)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Clients of one server; 12.5 GB/s.
    fn queue(clients: f64, request_bytes: f64, think_seconds: f64, service: Service) -> ClosedQueue {
        ClosedQueue { clients, servers: 1, think_seconds, service_seconds: request_bytes / 12.5e9, service }
    }

    const MIB: f64 = 1024.0 * 1024.0;

    #[test]
    fn thresholds_are_those_of_the_hand_computation() {
        let threshold = |bytes| queue(8.5, bytes, 0.0, Service::Deterministic).threshold_seconds();
        assert!((threshold(MIB / 2.0) - 315e-6).abs() < 0.5e-6, "{}", threshold(MIB / 2.0));
        assert!((threshold(4.0 * MIB) - 2.52e-3).abs() < 0.005e-3, "{}", threshold(4.0 * MIB));
        // At the threshold no request waits and the server is always busy; below it responses grow by what is left out of think times.
        let at = |think| queue(8.5, 4.0 * MIB, think, Service::Deterministic).figures();
        let (service, corner) = (4.0 * MIB / 12.5e9, threshold(4.0 * MIB));
        assert!((at(corner).response_seconds - service).abs() < 1e-12 && (at(corner).utilisation - 1.0).abs() < 1e-12);
        assert!((at(corner - 1e-3).response_seconds - service - 1e-3).abs() < 1e-12);
        assert!(at(corner * 2.0).utilisation < 0.6);
    }

    /// B15: jobs of 25, 50 and 75 % of the nodes.
    #[test]
    fn response_times_of_three_job_sizes() {
        let response = |clients| queue(clients, 4.0 * MIB, 2e-3, Service::Shared).figures().response_seconds;
        for (clients, expected) in [(4.25, 0.54e-3), (8.5, 1.15e-3), (12.75, 2.31e-3)] {
            assert!((response(clients) - expected).abs() < 0.005e-3, "{clients}: {}", response(clients));
        }
    }

    /// B18: from start to start a window of 2 ms changes nothing, since a cycle of 8.5 clients takes longer; from completion
    /// to start it costs 10.6 %.
    #[test]
    fn a_window_of_2_ms_costs_a_tenth() {
        let checkpoint = queue(8.5, 4.0 * MIB, 0.0, Service::Shared);
        let cycle = checkpoint.figures().response_seconds;
        assert!((cycle - 2.85e-3).abs() < 0.005e-3 && cycle > 2e-3, "{cycle}");
        assert!((checkpoint.cost_of_window(2e-3) - 1.106).abs() < 0.0005, "{}", checkpoint.cost_of_window(2e-3));
    }

    /// Two clients, by hand: R(1) = S, Q(1) = S / (Z + S), R(2) = S (1 + Q(1)). With Z = S = 1: Q(1) = 1/2, R(2) = 3/2,
    /// X(2) = 2 / 2.5.
    #[test]
    fn two_clients_by_hand() {
        let two = ClosedQueue {
            clients: 2.0,
            servers: 1,
            think_seconds: 1.0,
            service_seconds: 1.0,
            service: Service::Shared,
        };
        let expected = QueueFigures { response_seconds: 1.5, throughput: 0.8, utilisation: 0.8 };
        assert_eq!(two.figures(), expected);
        // Without think times the server is always busy and all others are before a request.
        let busy = ClosedQueue { clients: 5.0, think_seconds: 0.0, ..two };
        assert_eq!(busy.figures().response_seconds, 5.0);
        assert_eq!(busy.figures().utilisation, 1.0);
        // Two clients at two servers: the other one is at the same server half of the time that it is at one.
        let apart = ClosedQueue { servers: 2, think_seconds: 0.0, ..two };
        assert_eq!(apart.figures().response_seconds, 1.5);
        assert!((apart.figures().utilisation - 2.0 / 3.0).abs() < 1e-12);
        // One client, or less, never waits.
        assert_eq!(ClosedQueue { clients: 1.0, ..two }.figures().response_seconds, 1.0);
        assert_eq!(ClosedQueue { clients: 0.3, ..two }.figures().response_seconds, 1.0);
    }

    #[test]
    fn windows_reach_their_target() {
        for service in [Service::Deterministic, Service::Shared] {
            let checkpoint = queue(8.5, 4.0 * MIB, 0.0, service);
            for target in [0.1, 0.5, 0.8, 0.95] {
                let window = checkpoint.window_for_utilisation(target).unwrap();
                let found = checkpoint.throttled(window).figures().utilisation;
                assert!((found - target).abs() < 1e-9, "{target}: {window} {found}");
            }
            assert_eq!(checkpoint.window_for_utilisation(1.0), Some(0.0));
            assert_eq!([0.0, 1.1, f64::NAN].map(|part| checkpoint.window_for_utilisation(part)), [None; 3]);
        }
        // Of deterministic times: N S / U - S.
        let window = queue(8.0, 12.5e6, 0.0, Service::Deterministic).window_for_utilisation(0.5).unwrap();
        assert!((window - 15e-3).abs() < 1e-9, "{window}");
    }
}
