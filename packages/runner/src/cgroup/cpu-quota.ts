/** The period of cpu limits that the kernel, runc and Kubernetes use by default, in microseconds. */
export const CPU_PERIOD = 100_000;

// The kernel rejects a quota below one millisecond.
const MIN_CPU_QUOTA = 1_000;

/** Microseconds of cpu time in each {@link CPU_PERIOD}. */
export function cpuQuota(cpus: number): number {
  // 1.235 * 100000 is slightly more than 123500, and must not be rounded up to 123501.
  return Math.max(MIN_CPU_QUOTA, Math.ceil(Number((cpus * CPU_PERIOD).toFixed(6))));
}
