//! Questions: every name of the files, names beside, above and below them, in mixed case, of all types.

use std::collections::BTreeSet;
use std::fmt;

/// One question.
#[derive(Debug, Clone)]
pub struct Question {
    pub id: u16,
    pub name: String,
    pub qtype: u16,
    pub qclass: u16,
    pub rd: bool,
    pub cd: bool,
    /// Size, version and DO bit.
    pub edns: Option<(u16, u8, bool)>,
    pub opcode: u8,
}

impl Question {
    pub fn message(&self) -> Vec<u8> {
        let mut message = self.id.to_be_bytes().to_vec();
        message.push((self.opcode << 3) | u8::from(self.rd));
        message.push(if self.cd { 0x10 } else { 0 });
        message.extend([0, 1, 0, 0, 0, 0, 0, u8::from(self.edns.is_some())]);
        for label in self.name.split('.').filter(|label| !label.is_empty()) {
            message.push(u8::try_from(label.len()).unwrap());
            message.extend(label.as_bytes());
        }
        message.push(0);
        message.extend(self.qtype.to_be_bytes());
        message.extend(self.qclass.to_be_bytes());
        if let Some((size, version, dnssec)) = self.edns {
            message.extend([0, 0, 41]);
            message.extend(size.to_be_bytes());
            message.extend([0, version, if dnssec { 0x80 } else { 0 }, 0, 0, 0]);
        }
        message
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} type {} class {}", self.name, self.qtype, self.qclass)?;
        if self.opcode != 0 {
            write!(f, " opcode {}", self.opcode)?;
        }
        if let Some(edns) = self.edns {
            write!(f, " edns {edns:?}")?;
        }
        Ok(())
    }
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

const TYPES: &[u16] =
    &[1, 1, 1, 28, 28, 12, 255, 255, 5, 16, 33, 15, 35, 257, 6, 2, 65400, 43, 65, 99];

/// All names with the usual types first, then `count` at random.
pub fn questions(settings: &str, hosts: &[&str], count: usize) -> Vec<Question> {
    let names: Vec<String> = names(settings, hosts).into_iter().collect();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut all = Vec::new();
    for name in &names {
        for qtype in [1, 28, 12, 255, 16] {
            all.push(plain(all.len(), name.clone(), qtype));
        }
    }
    for _ in 0..count {
        let mut name = names[dice.roll(names.len())].clone();
        if dice.roll(4) == 0 {
            name = near(&name, &mut dice);
        }
        if dice.roll(3) == 0 {
            name = mixed(&name, &mut dice);
        }
        let mut question = plain(all.len(), name, TYPES[dice.roll(TYPES.len())]);
        question.rd = dice.roll(6) > 0;
        question.cd = dice.roll(10) == 0;
        if dice.roll(3) == 0 {
            let size = [0, 512, 600, 1232, 4096, 65535][dice.roll(6)];
            question.edns = Some((size, u8::from(dice.roll(60) == 0), dice.roll(2) == 0));
        }
        if dice.roll(50) == 0 {
            question.qclass = [3, 4, 255, 254][dice.roll(4)];
        }
        if dice.roll(100) == 0 {
            question.opcode = [1, 2, 4, 5][dice.roll(4)];
        }
        all.push(question);
    }
    for name in ["version.bind", "foo.bind", "id.server", "example.org"] {
        all.push(Question { qclass: 3, ..plain(all.len(), name.to_owned(), 16) });
    }
    all
}

fn plain(number: usize, name: String, qtype: u16) -> Question {
    let id = u16::try_from(number % 65_521).unwrap();
    Question { id, name, qtype, qclass: 1, rd: true, cd: false, edns: None, opcode: 0 }
}

/// Every word of the files that is a name, the reverse name of every address, and those around.
fn names(settings: &str, hosts: &[&str]) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = EXTRA.iter().map(|name| (*name).to_owned()).collect();
    let texts = hosts.iter().copied().chain([settings]);
    for word in texts.flat_map(|text| text.split(['\n', ' ', ',', '=', '/', '"', '#'])) {
        let word = word.trim().trim_end_matches('.').trim_start_matches(['*', '.']);
        if let Ok(address) = word.parse() {
            names.insert(reverse(address));
        } else if word.contains('.') && is_name(word) {
            names.insert(word.to_owned());
            names.insert(format!("below.{word}"));
            if let Some((_, above)) = word.split_once('.') {
                names.insert(above.to_owned());
            }
        }
    }
    names
}

fn is_name(word: &str) -> bool {
    word.len() < 200
        && word.split('.').all(|label| {
            (1..64).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        })
}

pub fn reverse(address: std::net::IpAddr) -> String {
    match address {
        std::net::IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        std::net::IpAddr::V6(address) => {
            let bits = address.to_bits();
            let nibbles: Vec<String> =
                (0..32).map(|at| format!("{:x}", (bits >> (4 * at)) & 15)).collect();
            nibbles.join(".") + ".ip6.arpa"
        }
    }
}

/// A name that is nearly the same.
fn near(name: &str, dice: &mut Dice) -> String {
    match dice.roll(5) {
        0 => format!("x{name}"),
        1 => format!("a.{name}"),
        2 => name.split_once('.').map_or(name, |(_, rest)| rest).to_owned(),
        3 => name.chars().skip(1).collect::<String>().trim_start_matches('.').to_owned(),
        _ => format!("{name}.example"),
    }
}

fn mixed(name: &str, dice: &mut Dice) -> String {
    name.chars()
        .map(
            |char| {
                if dice.roll(2) == 0 {
                    char.to_ascii_uppercase()
                } else {
                    char.to_ascii_lowercase()
                }
            },
        )
        .collect()
}

/// Names that no file holds as a word.
const EXTRA: &[&str] = &[
    "",
    "com",
    "example.com",
    "example.org",
    "single",
    "host1",
    "plainrecord",
    "short",
    "ranged",
    "full",
    "short.lab.example.com",
    "ranged.ranged.example.com",
    "ranged.lab.example.com",
    "full.lab.example.com",
    "none.lab.example.com",
    "_ldap._tcp.lab.example.com",
    "_tcp.lab.example.com",
    "ip-10-5-0-0.synth.example.com",
    "ip-10-5-0-7.synth.example.com",
    "ip-10-5-0-255.synth.example.com",
    "ip-10-5-1-0.synth.example.com",
    "ip-10-5-0-07.synth.example.com",
    "ip-10-5-0.synth.example.com",
    "ip-10-5-0-7-1.synth.example.com",
    "xip-10-5-0-7.synth.example.com",
    "ip-.synth.example.com",
    "a.ip-10-5-0-7.synth.example.com",
    "ip-10-55-0-7.local.example.com",
    "ip-10-56-0-7.local.example.com",
    "ip6-fd00-5--1.synth6.example.com",
    "ip6-fd00-5--.synth6.example.com",
    "ip6-fd00-5-0-0-1-2-3-4.synth6.example.com",
    "ip6-fd00-6--1.synth6.example.com",
    "fd00-6--1.bare6.example.com",
    "node-0.named.example.com",
    "node-10.named.example.com",
    "node-11.named.example.com",
    "node-05.named.example.com",
    "node-.named.example.com",
    "node--1.named.example.com",
    "node-99999999999999999999.named.example.com",
    "six-0.named6.example.com",
    "six-16.named6.example.com",
    "six-17.named6.example.com",
    "supperglob.example.net",
    "glob.example.net",
    "a.glob.example.net",
    "a.exact.glob.example.net",
    "x.y.addr.example.com",
    "a.inner.addr.example.com",
    "x.nx.example.com",
    "nova.openstack.svc",
    "openstack.svc",
    "svc",
    "x.star.zone.test",
    "a.b.star.zone.test",
    "b.zone.test",
    "nothing.zone.test",
    "x-10-20-5-1.syn.zone.test",
    "x-10-20-6-1.syn.zone.test",
    "nothing.bare.test",
    "xn--mnchen-3ya.example.com",
    "7.0.5.10.in-addr.arpa",
    "0.5.10.in-addr.arpa",
    "12.0.6.10.in-addr.arpa",
    "30.0.6.10.in-addr.arpa",
    "1.0.7.10.in-addr.arpa",
    "1.0.8.10.in-addr.arpa",
    "1.0.9.10.in-addr.arpa",
    "1.0.10.10.in-addr.arpa",
    "1.77.168.192.in-addr.arpa",
    "1.1.168.192.in-addr.arpa",
    "1.0.16.172.in-addr.arpa",
    "1.0.32.172.in-addr.arpa",
    "1.0.254.169.in-addr.arpa",
    "1.2.0.192.in-addr.arpa",
    "1.100.51.198.in-addr.arpa",
    "1.113.0.203.in-addr.arpa",
    "255.255.255.255.in-addr.arpa",
    "1.0.0.127.in-addr.arpa",
    "1.0.0.0.in-addr.arpa",
    "1.0.64.100.in-addr.arpa",
    "8.8.8.8.in-addr.arpa",
    "20.10.in-addr.arpa",
    "7.10.in-addr.arpa",
    "10.in-addr.arpa",
    "in-addr.arpa",
    "1.5.20.10.in-addr.arpa",
    "77.77.20.10.in-addr.arpa",
    "300.0.0.10.in-addr.arpa",
    "1.1.0.0.10.in-addr.arpa",
    "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.5.0.0.0.0.0.d.f.ip6.arpa",
    "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.6.0.0.0.0.0.d.f.ip6.arpa",
    "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.7.0.0.0.0.0.d.f.ip6.arpa",
    "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.c.f.ip6.arpa",
    "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.e.f.ip6.arpa",
    "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
    "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa",
    "0.2.0.0.0.0.d.f.ip6.arpa",
];
