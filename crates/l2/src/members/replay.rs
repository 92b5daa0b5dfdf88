//! Nothing is heard twice.
//!
//! A sender numbers its messages and begins a new life (an incarnation) with each start. Numbers
//! that come late are taken once, as long as they are not too late.

/// How late a message may come, counted in messages.
const WINDOW: u64 = 64;

/// What was heard of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    life: u64,
    highest: u64,
    /// Bit n: `highest - n` was heard.
    heard: u64,
}

impl Window {
    /// Whether a message is new; notes it. An older life is over for good.
    pub fn take(&mut self, life: u64, number: u64) -> bool {
        if life < self.life || number == 0 {
            return false;
        }
        if life > self.life {
            *self = Self { life, highest: number, heard: 1 };
            return true;
        }
        if number > self.highest {
            let ahead = number - self.highest;
            self.heard = if ahead < WINDOW { self.heard << ahead } else { 0 } | 1;
            self.highest = number;
            return true;
        }
        let behind = self.highest - number;
        if behind >= WINDOW || self.heard & (1 << behind) != 0 {
            return false;
        }
        self.heard |= 1 << behind;
        true
    }

    /// The latest message that was heard.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// The life of the sender that is known.
    pub fn life(&self) -> u64 {
        self.life
    }
}
