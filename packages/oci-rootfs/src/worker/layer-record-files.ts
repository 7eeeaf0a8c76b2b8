import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ImageError } from "../base/errors.ts";
import { readRecord } from "../base/small-file.ts";
import {
  assumedOf,
  hasLayerPaths,
  isLayerRecord,
  type LayerPaths,
  type LayerRecord,
  type UnpackedLayer,
} from "../layer/layer-record.ts";

// An unpacked layer is a directory with the files (`fs`), the record, and the paths that depend on the layers below.

const RECORD = "layer.json";
const PATHS = "paths.json";

/** Writes the files of records into the parent of an unpacked layer's directory. */
export function writeLayerRecord(root: string, { record, paths }: UnpackedLayer): void {
  // The record comes last, because it promises the paths.
  writeFileSync(join(root, "..", PATHS), JSON.stringify(paths), { mode: 0o600 });
  writeFileSync(join(root, "..", RECORD), JSON.stringify(record), { mode: 0o600 });
}

/** Reads the record of the unpacked layer at `root`. Undefined if it is missing or damaged. */
export function readLayerRecord(root: string): LayerRecord | undefined {
  const value = readRecord(join(root, "..", RECORD));
  if (isLayerRecord(value)) return value;
  return hasLayerPaths(value) ? upgraded(value) : undefined;
}

/** A record of older versions has all paths. */
function upgraded(old: LayerPaths): LayerRecord | undefined {
  const { implied, hollow, whiteouts, named, ...rest } = old;
  const assumed = assumedOf({ implied, hollow, whiteouts, named });
  const record: unknown = { nodes: 0, pathBytes: 0, ...rest, assumed };
  return isLayerRecord(record) ? { ...record, nodes: record.entries } : undefined;
}

/** Reads the paths of an unpacked layer. @throws ImageError StoreFailed if they are damaged */
export function readLayerPaths(root: string): LayerPaths {
  const value = readRecord(join(root, "..", PATHS)) ?? readRecord(join(root, "..", RECORD));
  if (hasLayerPaths(value)) return value;
  throw new ImageError("StoreFailed", `${join(root, "..")} is damaged: remove it, so that the layer is unpacked again`);
}
