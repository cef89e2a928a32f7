// SPDX-License-Identifier: GPL-2.0-or-later

//! heap-target THREADS: the program of heap-target.c, as far as it goes, in Rust, whose programs bring a
//! jemalloc of their own with names that begin with "_rjem_".

use std::alloc::{GlobalAlloc, Layout};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::io::Write;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};

extern "C" {
    fn _rjem_mallocx(n: usize, flags: i32) -> *mut c_void;
    fn _rjem_sdallocx(memory: *mut c_void, n: usize, flags: i32);
    fn _rjem_mallctl(name: *const u8, old: *mut c_void, old_n: *mut usize, new: *mut c_void, new_n: usize) -> i32;
    fn gettid() -> i32;
    fn read(fd: i32, buffer: *mut u8, n: usize) -> isize;
    fn write(fd: i32, buffer: *const u8, n: usize) -> isize;
}

struct Jemalloc;

// What mallocx() takes as its flags for an alignment.
fn flags(layout: &Layout) -> i32 {
    layout.align().trailing_zeros() as i32
}

unsafe impl GlobalAlloc for Jemalloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        _rjem_mallocx(layout.size(), flags(&layout)) as *mut u8
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        _rjem_sdallocx(memory as *mut c_void, layout.size(), flags(&layout))
    }
}

#[global_allocator]
static GLOBAL: Jemalloc = Jemalloc;

const MAX_THREADS: usize = 1024;
const ZERO: AtomicU64 = AtomicU64::new(0);
const NONE: AtomicI32 = AtomicI32::new(0);
static TIDS: [AtomicI32; MAX_THREADS] = [NONE; MAX_THREADS];
static ALLOCATED: [AtomicU64; MAX_THREADS] = [ZERO; MAX_THREADS];
static DEALLOCATED: [AtomicU64; MAX_THREADS] = [ZERO; MAX_THREADS];

fn ask<T: Copy>(name: &[u8], mut value: T) -> T {
    let mut n = std::mem::size_of::<T>();
    let old = &mut value as *mut T as *mut c_void;
    unsafe { _rjem_mallctl(name.as_ptr(), old, &mut n, std::ptr::null_mut(), 0) };
    value
}

fn work(number: usize, round: u64, shared: &Mutex<BTreeMap<u64, Vec<u8>>>) {
    let mut random = 0x9e3779b97f4a7c15u64.wrapping_mul(number as u64 + 1).wrapping_add(round) | 1;
    for _ in 0..500 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let size = (random % if random % 16 == 0 { 1 << 20 } else { 4000 }) as usize;
        // What was there is freed by whoever comes second.
        shared.lock().unwrap().insert(random % 256, vec![1u8; size]);
    }
}

fn say(text: &[u8]) {
    unsafe { write(1, text.as_ptr(), text.len()) };
}

fn main() {
    let n: usize = std::env::args().last().and_then(|word| word.parse().ok()).expect("heap-target THREADS");
    let shared = Arc::new(Mutex::new(BTreeMap::new()));
    let begin = Arc::new(Barrier::new(n + 1));
    let end = Arc::new(Barrier::new(n + 1));
    let play = move |number: usize, round: u64, shared: &Mutex<BTreeMap<u64, Vec<u8>>>, end: &Barrier| {
        work(number, round, shared);
        for _ in 0..2 {
            ALLOCATED[number].store(ask(b"thread.allocated\0", 0u64), Ordering::SeqCst);
            DEALLOCATED[number].store(ask(b"thread.deallocated\0", 0u64), Ordering::SeqCst);
        }
        TIDS[number].store(unsafe { gettid() }, Ordering::SeqCst);
        end.wait();
    };
    for number in 1..=n {
        let (shared, begin, end) = (shared.clone(), begin.clone(), end.clone());
        std::thread::spawn(move || {
            for round in 0.. {
                begin.wait();
                play(number, round, &shared, &end);
            }
        });
    }
    let mut report = vec![0u8; 64 * (n + 2)];
    let version = unsafe { std::ffi::CStr::from_ptr(ask(b"version\0", std::ptr::null::<std::os::raw::c_char>())) };
    say(format!("{} {} 0 0 0\n", std::process::id(), version.to_str().unwrap()).as_bytes());
    let mut byte = 0u8;
    let mut round = 0;
    while unsafe { read(0, &mut byte, 1) } > 0 {
        begin.wait();
        play(0, round, &shared, &end);
        round += 1;
        let mut left: &mut [u8] = &mut report;
        let size = left.len();
        for number in 0..=n {
            writeln!(left, "{} {} {}", TIDS[number].load(Ordering::SeqCst), ALLOCATED[number].load(Ordering::SeqCst),
                     DEALLOCATED[number].load(Ordering::SeqCst)).unwrap();
        }
        writeln!(left).unwrap();
        let used = size - left.len();
        say(&report[..used]);
    }
    std::process::exit(0);
}
