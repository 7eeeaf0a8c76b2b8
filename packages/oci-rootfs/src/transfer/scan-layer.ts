import { ImageError } from "../base/errors.ts";
import type { ImageSource } from "../image/image-source.ts";
import type { Descriptor } from "../image/manifest.ts";
import { verifiedBytes } from "../image/verified-bytes.ts";
import { decompressed } from "../layer/decompress.ts";
import { splitEntryPath } from "../layer/entry-path.ts";
import { DEFAULT_LAYER_LIMITS } from "../layer/layer-limits.ts";
import { TarReader } from "../layer/tar-reader.ts";

/** The file to look for in a layer. */
export interface WantedFile {
  /** Relative to the root. */
  readonly path: string;
  /** A larger file is an error. */
  readonly maxBytes: number;
  /** A layer that unpacks to more is an error. */
  readonly maxLayerBytes: number;
}

/** The result of {@link scanLayer}. */
export interface ScannedLayer {
  readonly content: Buffer | undefined;
  /** Whether the layer hides the file of the layers below (OCI image-spec, "Whiteouts"). */
  readonly hides: boolean;
  /** Unpacked bytes of the layer. */
  readonly bytes: number;
}

/** Looks for one file in a layer, and keeps nothing else of it. @throws ImageError */
export async function scanLayer(
  source: ImageSource,
  layer: Descriptor,
  wanted: WantedFile,
  signal: AbortSignal,
): Promise<ScannedLayer> {
  const { digest } = layer;
  const { path, maxBytes, maxLayerBytes } = wanted;
  const name = normal(path);
  const hiding = whiteoutsOf(name);
  let found: Uint8Array[] | undefined;
  let isReading = false;
  let hides = false;
  const reader = new TarReader({
    add(entry) {
      const entryName = normal(entry.path);
      hides ||= hiding.has(entryName);
      isReading = entryName === name;
      if (!isReading) return;
      // Readers differ in which of the two they use: Crossplane takes the first one.
      if (found !== undefined) throw new ImageError("InvalidManifest", `${path} is in the layer twice`);
      if (entry.kind !== "file") throw new ImageError("InvalidConfig", `${path} is not a regular file`);
      if (entry.size > maxBytes)
        throw new ImageError("TooLarge", `${path} is ${entry.size} bytes, more than ${maxBytes}`);
      found = [];
    },
    write(chunk) {
      // The parser reuses its buffer.
      if (isReading) found?.push(Buffer.from(chunk));
    },
    closeFile: () => undefined,
  });
  let bytes = 0;
  for await (const chunk of decompressed(verifiedBytes(await source.blob(layer, signal), layer))) {
    bytes += chunk.length;
    if (bytes > maxLayerBytes)
      throw new ImageError("TooLarge", `the layer unpacks to more than ${maxLayerBytes} bytes`, { digest });
    reader.write(chunk);
  }
  reader.end();
  return { content: found && Buffer.concat(found), hides, bytes };
}

/** The whiteouts of a file and its directories, and the marks of opaque directories. */
function whiteoutsOf(name: string): ReadonlySet<string> {
  const parts = name.split("/");
  const names = parts.flatMap((part, depth) => {
    const directory = parts.slice(0, depth).map((parent) => `${parent}/`);
    return [`.wh.${part}`, ".wh..wh..opq"].map((file) => directory.join("") + file);
  });
  return new Set(names);
}

function normal(path: string): string {
  return splitEntryPath(path, DEFAULT_LAYER_LIMITS).join("/");
}
