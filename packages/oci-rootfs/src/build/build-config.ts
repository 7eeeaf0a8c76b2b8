import type { HistoryEntry, ImageConfig } from "../image/manifest.ts";
import type { Platform } from "../image/platform.ts";
import type { BuiltLayer } from "./build-layer.ts";

/** Runtime settings of an image, on top of its base's. */
export interface BuildConfig {
  /** Also replaces the base's command, like ENTRYPOINT in a Dockerfile. */
  readonly entrypoint?: readonly string[] | undefined;
  readonly cmd?: readonly string[] | undefined;
  /** Added to the base's. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly workdir?: string | undefined;
  readonly user?: string | undefined;
  /** Added to the base's. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** A fixed time makes images reproducible. */
const CREATED = "1970-01-01T00:00:00Z";

/** Creates the image config of layers on a base. */
export function imageConfig(
  base: ImageConfig | undefined,
  built: readonly BuiltLayer[],
  config: BuildConfig,
  platform: Platform,
): ImageConfig {
  const from = base?.config ?? {};
  const env = Object.entries(config.env ?? {});
  const names = new Set(env.map(([name]) => name));
  const inherited = (from.Env ?? []).filter((entry) => !names.has(entry.slice(0, entry.indexOf("="))));
  const labels = { ...from.Labels, ...config.labels };
  const { Cmd: baseCmd, ...fromWithoutCmd } = from;
  const cmd = config.cmd ?? (config.entrypoint === undefined ? baseCmd : undefined);
  const history: HistoryEntry[] = built.map(() => ({ created: CREATED, created_by: "xfn build" }));
  const { os, architecture, variant } = platform;
  return {
    created: CREATED,
    architecture,
    os,
    ...(variant !== undefined && { variant }),
    config: {
      ...fromWithoutCmd,
      ...(env.length + inherited.length > 0 && {
        Env: [...inherited, ...env.map(([name, value]) => `${name}=${value}`)],
      }),
      ...(config.entrypoint !== undefined && { Entrypoint: config.entrypoint }),
      ...(cmd !== undefined && { Cmd: cmd }),
      ...(config.workdir !== undefined && { WorkingDir: config.workdir }),
      ...(config.user !== undefined && { User: config.user }),
      ...(Object.keys(labels).length > 0 && { Labels: sorted(labels) }),
    },
    rootfs: {
      type: "layers",
      diff_ids: [...(base?.rootfs?.diff_ids ?? []), ...built.map(({ diffId }) => diffId)],
    },
    history: [...(base?.history ?? []), ...history],
  };
}

/** The field `annotations` of a manifest or index; no field if there are none. */
export function annotationsField(annotations: Readonly<Record<string, string>> = {}): { annotations?: object } {
  return Object.keys(annotations).length === 0 ? {} : { annotations: sorted(annotations) };
}

/** Sorts by key, so that the digest does not depend on the caller's order. */
function sorted(map: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}
