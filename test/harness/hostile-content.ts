import { buildImage } from "@xfn/oci-rootfs";
import { storeOf } from "./shell-function.ts";
import type { Workspace } from "./workspace.ts";

/** The bound of what a function returns, by default. */
export const MAX_OUTPUT_BYTES: number = 16 * 1024 * 1024;

/** Room for what is around a value. */
const MARGIN_BYTES = 1024;

/** Returns `before`, as many items as fit into the bound of an output but at most `most`, and `after`. */
function filled(before: string, item: (index: number) => string, after: string, most = Infinity): string {
  const room = MAX_OUTPUT_BYTES - MARGIN_BYTES - before.length - after.length;
  const items: string[] = [];
  for (let index = 0, size = 0; index < most; index++) {
    const text = item(index);
    size += text.length + 1;
    if (size > room) break;
    items.push(text);
  }
  return before + items.join(",") + after;
}

/** An output may have a value for each 16 bytes of its bound: this is a little less. */
const MOST_VALUES = 1_000_000;
const LEVELS = 450;

const padded = (index: number): string => String(index).padStart(7, "0");
const nested = (open: string, inner: string, close: string): string =>
  open.repeat(LEVELS) + inner + close.repeat(LEVELS);

/**
 * JSON values of up to 16 MiB that take far more memory or time than their size suggests. An output of 16 MiB may
 * contain each of them.
 */
export const HOSTILE_VALUES: Readonly<Record<string, () => string>> = {
  "a million different keys": () => filled("{", (index) => `"k${padded(index)}":1`, "}", MOST_VALUES),
  "one long string": () => `"${"x".repeat(MAX_OUTPUT_BYTES - MARGIN_BYTES)}"`,
  "one long string of escapes": () => `"${"\\u4e2d".repeat((MAX_OUTPUT_BYTES - MARGIN_BYTES) / 6)}"`,
  "lists in lists": () => filled("[", () => nested("[", "", "]"), "]", MOST_VALUES / LEVELS),
  "objects in objects": () => filled("[", () => nested('{"keykeykey":', "1", "}"), "]", MOST_VALUES / LEVELS),
  "small lists": () => filled("[", () => "[]", "]", MOST_VALUES),
  "small objects": () => filled("[", (index) => `{"k${index}":{}}`, "]", MOST_VALUES / 3),
  "long integers": () => filled("[", (index) => `123456789${padded(index)}`, "]", MOST_VALUES),
};

/** Returns the FunctionIO of a function that desires one ConfigMap with this data. */
export function outputWith(data: string): string {
  const resource = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default"},"data":${data}}`;
  const desired = `{"resources":[{"name":"r","resource":${resource},"readinessChecks":[{"type":"None"}]}]}`;
  return `{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO","desired":${desired}}`;
}

/** Builds an image whose function writes `output` and reads nothing. */
export async function buildOutputImage(workspace: Workspace, name: string, output: string): Promise<void> {
  const entries = [
    { path: "bin/busybox", source: "/bin/busybox", mode: 0o755 },
    { path: "output", content: output },
  ];
  await buildImage({
    store: await storeOf(workspace),
    name,
    layers: [{ entries, compression: "none" }],
    config: { entrypoint: ["/bin/busybox", "cat", "/output"] },
  });
}
