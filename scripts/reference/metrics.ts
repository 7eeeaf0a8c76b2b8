import { createRequire } from "node:module";
import { join } from "node:path";

/** A metric of `prom-client`, with fields that are missing in its types. */
interface Declared {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  readonly constructor: { readonly name: string };
}

interface PromClient {
  readonly Registry: { readonly prototype: { registerMetric: (this: unknown, metric: Declared) => void } };
}

/** A class of metrics in a built program. Its levels are read at a scrape only. */
type Metrics = new (version: string, more?: boolean) => { watch(...levels: readonly unknown[]): void };

/** The metrics of both services. */
export async function metricsPage(): Promise<string> {
  const runner = await declaredBy("runner/dist/service/metrics.js", "Metrics");
  const controller = await declaredBy("controller/dist/program/metrics.js", "ControllerMetrics");
  return `# Metrics

\`--metrics-address\` of both services has them at \`/metrics\`, for Prometheus. Labels are kinds and codes, never names of objects, images or callers.
Both also have \`process_*\` and \`nodejs_*\`; the event loop's lag includes the 100 ms between two measurements.

## xfn-runner

${linesOf(runner)}
## xfn-controller

With \`--runner in-process\` it has those of xfn-runner too.

${linesOf(controller)}
With \`--crossplane-metrics\` it also has these names of Crossplane and its libraries. They show images, and functions of any type count as gRPC
calls. Metrics of Crossplane that are not here have no equal: \`engine_*\`, \`circuit_breaker_events_total\`, \`workqueue_depth\`.

${linesOf(controller, /^(?!xfn_|process_|nodejs_)/)}`;
}

function linesOf(metrics: readonly Declared[], names = /^xfn_/): string {
  return metrics
    .filter(({ name }) => names.test(name))
    .map(lineOf)
    .join("");
}

function lineOf({ name, help, labelNames = [], constructor }: Declared): string {
  const labels = labelNames.map((label) => `\`${label}\``).join(", ");
  const type = constructor.name.toLowerCase();
  return `- \`${name}\` (${labels === "" ? type : `${type} by ${labels}`}): ${help}\n`;
}

/**
 * The metrics that a class registers. Registries do not list labels of metrics without values.
 *
 * @param file below `packages`. A static import would make build results a part of the sources
 */
async function declaredBy(file: string, name: string): Promise<Declared[]> {
  const path = join(import.meta.dirname, "../../packages", file);
  const { Registry } = createRequire(path)("prom-client") as PromClient;
  const module = (await import(path)) as Readonly<Record<string, Metrics>>;
  const declared: Declared[] = [];
  const { registerMetric } = Registry.prototype;
  Registry.prototype.registerMetric = function (metric) {
    declared.push(metric);
    registerMetric.call(this, metric);
  };
  try {
    const Class = module[name];
    if (Class !== undefined) new Class("", true).watch({}, () => true);
  } finally {
    Registry.prototype.registerMetric = registerMetric;
  }
  return declared;
}
