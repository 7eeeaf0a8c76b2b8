/** The period of cpu limits that the kernel, runc and Kubernetes use by default, in microseconds. */
export const CPU_PERIOD = 100_000;

// The kernel refuses a quota below one millisecond.
const MIN_CPU_QUOTA = 1_000;

/** Microseconds of cpu time in each {@link CPU_PERIOD}. */
export function cpuQuota(cpus: number): number {
  // 1.235 * 100000 is a little over 123500: rounding up must not make 123501 of it.
  return Math.max(MIN_CPU_QUOTA, Math.ceil(Number((cpus * CPU_PERIOD).toFixed(6))));
}
