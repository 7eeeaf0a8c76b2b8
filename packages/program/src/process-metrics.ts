/**
 * Options for prom-client's `collectDefaultMetrics`. Its own default wakes an idle process a hundred times a second to see how late
 * its event loop is: a controller that has nothing to do took 1 % of a core, with this 0.1 to 0.2 %. What `nodejs_eventloop_lag_*`
 * say includes the interval, in milliseconds.
 */
export const PROCESS_METRICS: { readonly eventLoopMonitoringPrecision: number } = {
  eventLoopMonitoringPrecision: 100,
};
