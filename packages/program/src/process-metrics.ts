/**
 * Options for prom-client's `collectDefaultMetrics`. Its default wakes an idle process 100 times a second to measure
 * the lag of the event loop. That cost an idle controller 1 % of a core; with this interval it is 0.1 to 0.2 %. The
 * values of `nodejs_eventloop_lag_*` include the interval, in milliseconds.
 */
export const PROCESS_METRICS: { readonly eventLoopMonitoringPrecision: number } = {
  eventLoopMonitoringPrecision: 100,
};
