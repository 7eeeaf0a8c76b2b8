/** These are gauges, and no counters as their names say. Gauges without the ending have the same values by type. */
const MISNAMED = ["nodejs_active_handles_total", "nodejs_active_requests_total", "nodejs_active_resources_total"];

/**
 * Adds the metrics of the process to a registry. prom-client wakes an idle process 100 times a second by default to
 * measure the lag of the event loop. That cost an idle controller 1 % of a core; with this interval it is 0.1 to 0.2 %.
 * The values of `nodejs_eventloop_lag_*` include the interval, in milliseconds.
 *
 * @param collect `collectDefaultMetrics` of prom-client
 */
export function addProcessMetrics<R extends { removeSingleMetric(name: string): void }>(
  register: R,
  collect: (options: { readonly register: R; readonly eventLoopMonitoringPrecision: number }) => void,
): void {
  collect({ register, eventLoopMonitoringPrecision: 100 });
  for (const name of MISNAMED) register.removeSingleMetric(name);
}
