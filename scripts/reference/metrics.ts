import { Registry } from "prom-client";
import { ControllerMetrics } from "../../packages/controller/dist/program/metrics.js";
import { Metrics as RunnerMetrics } from "../../packages/runner/dist/service/metrics.js";
import { table } from "./table.ts";

/** What the classes of `prom-client` have, though their types do not say so. */
interface Declared {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  readonly constructor: { readonly name: string };
}

/** The metrics of both services. */
export function metricsPage(): string {
  const runner = declaredBy(() => {
    const levels = { calls: () => ({ running: 0, waiting: 0 }), sandboxes: () => 0, ready: () => true };
    new RunnerMetrics("", false).watch({ ...levels, servers: () => ({ count: 0, idle: 0 }) });
  });
  const controller = declaredBy(() => {
    const levels = { running: 0, waiting: 0, composedKinds: 0, uncached: 0 };
    new ControllerMetrics("").watch(
      () => levels,
      () => true,
    );
  });
  return `# Metrics

\`--metrics-address\` of both services has them at \`/metrics\`, for Prometheus. Labels are kinds and codes, never names of objects, images or callers.
Both also have \`process_*\` and \`nodejs_*\`; the event loop's lag includes the 100 ms between two measurements.

## xfn-runner

${rowsOf(runner)}

## xfn-controller

With \`--runner in-process\` it has those of xfn-runner too.

${rowsOf(controller)}
`;
}

function rowsOf(metrics: readonly Declared[]): string {
  const own = metrics.filter(({ name }) => name.startsWith("xfn_"));
  const rows = own.map(({ name, help, labelNames = [], constructor }) => [
    `\`${name}\``,
    constructor.name.toLowerCase(),
    labelNames.map((label) => `\`${label}\``).join(", "),
    help,
  ]);
  return table(["metric", "type", "labels", ""], rows);
}

/** The metrics that are registered meanwhile: registries do not list labels of metrics without values. */
function declaredBy(create: () => void): Declared[] {
  const declared: Declared[] = [];
  const { registerMetric } = Registry.prototype;
  Registry.prototype.registerMetric = function (metric) {
    declared.push(metric as unknown as Declared);
    registerMetric.call(this, metric);
  };
  try {
    create();
  } finally {
    Registry.prototype.registerMetric = registerMetric;
  }
  return declared;
}
