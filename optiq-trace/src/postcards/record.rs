//! What components write.

use bincode::{Decode, Encode};

/// What a postcard takes in a component's buffer, in bytes: the longest one, of a switch, with 32-bit numbers of components,
/// 64-bit times and its own kind.
pub const POSTCARD_BYTES: usize = 40;

/// The largest tag of a packet.
pub const MAX_TAG: u16 = u16::MAX;

/// A component, by its place in its [`Collection`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Component(pub u32);

impl Component {
    /// Its place.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a component is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ComponentKind {
    /// Runs a program, and gives its adapter commands.
    Processor {
        /// That adapter.
        adapter: Component,
    },
    /// Makes packets of commands, and commands of packets.
    Adapter,
    /// Passes packets on.
    Switch,
    /// A process that makes packets of its program's bytes, takes them in, and passes those of others on, all by one clock.
    Rank {
        /// What taps its host, in a lab.
        tap: Option<Component>,
    },
    /// A host or a switch of a real network, seen from outside: it makes packets, passes them on and takes them in.
    Tap,
}

/// What a marked packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Operation {
    /// It has a program's bytes.
    Data,
    /// It asks for permission to send many (rendezvous).
    Request,
    /// It gives it.
    Grant,
}

/// What every component can read in a packet's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Packet {
    /// The adapter that it is from.
    pub source: Component,
    /// The adapter that it is for.
    pub destination: Component,
    /// Its number at its source, which counts up to some limit and begins again.
    pub tag: u16,
}

/// A line of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Context {
    /// The source file.
    pub file: String,
    /// Its line, from 1 on.
    pub line: u32,
    /// The function; empty if that is not known.
    pub function: String,
}

/// What one component says of one marked packet or command. Times are nanoseconds of the component's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Postcard {
    /// A processor gave its adapter a command.
    Issued {
        /// From where in the program: an index of [`Collection::contexts`].
        context: u32,
        /// The command's number at this processor's adapter.
        command: u32,
        /// The processor that it is for.
        destination: Component,
        /// When.
        at: u64,
    },
    /// An adapter sent the marked packet of a command.
    Injected {
        /// The command.
        command: u32,
        /// What the packet is for.
        operation: Operation,
        /// Its header.
        packet: Packet,
        /// The component at the other end of the wire.
        next: Component,
        /// When the adapter saw the command.
        seen: u64,
        /// When the packet's head left.
        left: u64,
        /// When the head of the command's last packet left.
        last_left: u64,
    },
    /// A switch passed it on.
    Forwarded {
        /// Its header.
        packet: Packet,
        /// From where it came.
        previous: Component,
        /// Where it went.
        next: Component,
        /// When its head arrived.
        arrived: u64,
        /// When its head left.
        left: u64,
        /// Bytes that waited in its buffer before it.
        waiting_bytes: u32,
    },
    /// An adapter took it in.
    Arrived {
        /// Its header.
        packet: Packet,
        /// From where it came.
        previous: Component,
        /// The number of what its message became for the processor.
        command: u32,
        /// When its head arrived.
        arrived: u64,
        /// When the whole message was there.
        complete: u64,
    },
    /// A processor received the message.
    Received {
        /// Where in the program: an index of [`Collection::contexts`].
        context: u32,
        /// The number that its adapter gave it.
        command: u32,
        /// The processor that it is from.
        source: Component,
        /// When.
        at: u64,
    },
}

/// What was collected of one component.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ComponentLog {
    /// For people.
    pub name: String,
    /// What it is.
    pub kind: ComponentKind,
    /// Postcards that it wrote over before they were collected.
    pub overwritten: u64,
    /// The others, in the order in which it wrote them, but for those that were lost.
    pub postcards: Vec<Postcard>,
}

/// What was collected of all components.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Collection {
    /// The lines of programs that postcards name.
    pub contexts: Vec<Context>,
    /// By [`Component`].
    pub components: Vec<ComponentLog>,
}

impl Collection {
    /// How many postcards there are.
    pub fn postcards(&self) -> usize {
        self.components.iter().map(|log| log.postcards.len()).sum()
    }

    /// How many were written over.
    pub fn overwritten(&self) -> u64 {
        self.components.iter().map(|log| log.overwritten).sum()
    }

    /// A component's name.
    pub fn name(&self, component: Component) -> &str {
        self.components.get(component.index()).map_or("?", |log| &log.name)
    }

    /// Whether all numbers in it are of what it has.
    ///
    /// # Errors
    /// A sentence with the first one that is not.
    pub fn check(&self) -> Result<(), String> {
        for log in &self.components {
            if let ComponentKind::Processor { adapter } = log.kind
                && self.components.get(adapter.index()).is_none_or(|a| a.kind != ComponentKind::Adapter)
            {
                return Err(format!("the adapter of {} is component {}, which is none", log.name, adapter.0));
            }
            if let ComponentKind::Rank { tap: Some(tap) } = log.kind
                && self.components.get(tap.index()).is_none_or(|host| host.kind != ComponentKind::Tap)
            {
                return Err(format!("the tap of {} is component {}, which is none", log.name, tap.0));
            }
            for (postcard, number) in log.postcards.iter().zip(1..) {
                let bad = |what: &str| Err(format!("postcard {number} of {} {what}", log.name));
                if !log.kind.writes(postcard) {
                    return bad("is not of a kind that such a component writes");
                }
                if postcard.components().into_iter().flatten().any(|c| c.index() >= self.components.len()) {
                    return bad("names a component that there is not");
                }
                if postcard.context().is_some_and(|context| context as usize >= self.contexts.len()) {
                    return bad("names a line of a program that there is not");
                }
            }
        }
        Ok(())
    }
}

impl ComponentKind {
    fn writes(self, postcard: &Postcard) -> bool {
        matches!(
            (self, postcard),
            (ComponentKind::Processor { .. }, Postcard::Issued { .. } | Postcard::Received { .. })
                | (ComponentKind::Adapter, Postcard::Injected { .. } | Postcard::Arrived { .. })
                | (ComponentKind::Switch, Postcard::Forwarded { .. })
                | (ComponentKind::Rank { .. }, _)
                | (
                    ComponentKind::Tap,
                    Postcard::Injected { .. } | Postcard::Forwarded { .. } | Postcard::Arrived { .. }
                )
        )
    }
}

impl Postcard {
    /// The earliest time in it.
    pub(super) fn earliest(&self) -> u64 {
        match *self {
            Postcard::Issued { at, .. } | Postcard::Received { at, .. } => at,
            Postcard::Injected { seen, left, last_left, .. } => seen.min(left).min(last_left),
            Postcard::Forwarded { arrived, left, .. } => arrived.min(left),
            Postcard::Arrived { arrived, complete, .. } => arrived.min(complete),
        }
    }

    /// Those that it names.
    pub(super) fn components(&self) -> [Option<Component>; 4] {
        let of = |p: Packet, a: Component, b: Option<Component>| [Some(p.source), Some(p.destination), Some(a), b];
        match *self {
            Postcard::Issued { destination, .. } => [Some(destination), None, None, None],
            Postcard::Injected { packet, next, .. } => of(packet, next, None),
            Postcard::Forwarded { packet, previous, next, .. } => of(packet, previous, Some(next)),
            Postcard::Arrived { packet, previous, .. } => of(packet, previous, None),
            Postcard::Received { source, .. } => [Some(source), None, None, None],
        }
    }

    /// The line of a program that it names.
    pub(super) fn context(&self) -> Option<u32> {
        match *self {
            Postcard::Issued { context, .. } | Postcard::Received { context, .. } => Some(context),
            _ => None,
        }
    }
}
