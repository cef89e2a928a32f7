-- SPDX-License-Identifier: GPL-2.0-or-later
-- Who waits most in the last minutes, and for which reason: threads is how many threads of the group waited for it at any time.
--
-- Reasons exclude each other, so what stands here may be added; sync_wait_ns overlaps them and is left out. What holds
-- back who wants to run comes first (a CPU, storage, locks, the kernel); what is mostly idleness (poll, sleep, futex of a
-- pool, ...) follows. Captures that read files instead of BPF know the CPU, and storage by delay accounting if at all.

WITH (SELECT max(time) FROM ctprof_interval WHERE time <= {until:DateTime64(3, 'UTC')}) AS ends,
        toIntervalMinute({minutes:UInt32}) AS span
SELECT host, machine_id, group_name, metric AS reason, avg(per_second) / 1e9 AS threads,
        metric IN ('wait_time_ns', 'storage_wait_ns', 'uninterruptible_ns', 'lock_wait_ns', 'file_lock_wait_ns',
                'fault_wait_ns') AS holds_back
FROM ctprof_change
WHERE group_by = {axis:String} AND time > ends - span AND time <= ends AND per_second > 0
        AND (metric IN ('wait_time_ns', 'storage_wait_ns', 'uninterruptible_ns')
                OR section = 'waits' AND rule = 'SumNs' AND metric != 'sync_wait_ns')
GROUP BY host, machine_id, group_name, metric
ORDER BY holds_back DESC, threads DESC, host, group_name, reason LIMIT 50;
