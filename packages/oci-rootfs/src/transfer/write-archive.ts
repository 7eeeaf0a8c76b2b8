import {
  closeSync,
  createReadStream,
  createWriteStream,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { pack } from "tar-stream";
import { ImageError } from "../base/errors.ts";
import { throwIfAborted } from "../base/single-flight.ts";
import { readSmallFile } from "../base/small-file.ts";
import { parseDigest } from "../image/digest.ts";
import { parseLayoutName } from "../image/image-name.ts";
import { isIndex, MAX_CONFIG_BYTES, MAX_MANIFEST_BYTES, parseManifestOrIndex } from "../image/manifest.ts";
import { decompressed } from "../layer/decompress.ts";
import { gzipLayer } from "../layer/gzip-layer.ts";
import { layoutSource, readLayoutEntry } from "../store/layout.ts";

export interface WriteArchiveOptions {
  /** `oci:DIR[:TAG]`: the layout that contains the image. */
  from: string;
  /** The file to write. It appears when it is complete. */
  path: string;
  signal?: AbortSignal | undefined;
}

/** A fixed time makes archives reproducible. */
const EPOCH = new Date(0);

/**
 * Writes an image as one file, like `docker save`: config, layers, and a `manifest.json` that names them
 * (https://github.com/moby/docker-image-spec). All layers are compressed with gzip, which all readers support. The
 * archive contains neither the manifest nor annotations. The same image gives the same bytes.
 *
 * @throws ImageError
 */
export async function writeArchive({ from, path, signal }: WriteArchiveOptions): Promise<void> {
  const aside = join(dirname(path), `.${process.pid}-${Date.now()}.tmp`);
  try {
    await write(from, aside, signal);
    renameSync(aside, path);
  } catch (error) {
    // The caller knows neither the layout, which is often temporary, nor the temporary file.
    const { code, path: at } = error as NodeJS.ErrnoException;
    if (at === aside) throw new ImageError("StoreFailed", `cannot write ${path}: ${code}`, { cause: error });
    throw ImageError.from(error, { image: from });
  } finally {
    rmSync(aside, { force: true });
    rmSync(`${aside}.layer`, { force: true });
  }
}

async function write(from: string, path: string, signal: AbortSignal | undefined): Promise<void> {
  const layout = parseLayoutName(from);
  const { digest } = readLayoutEntry(layout);
  const { bytes } = await layoutSource(layout).manifest({ digest }, signal);
  const manifest = parseManifestOrIndex(bytes.subarray(0, MAX_MANIFEST_BYTES));
  if (isIndex(manifest))
    throw new ImageError("Unsupported", "an archive contains one image, and this is an index: select one platform");
  const blobPath = (blob: string): string => {
    const { algorithm, hex } = parseDigest(blob);
    return join(layout.dir, "blobs", algorithm, hex);
  };
  const archive = pack();
  const written = pipeline(archive as unknown as NodeJS.ReadableStream, createWriteStream(path, { flags: "wx" }));
  const add = async (name: string, file: string): Promise<void> => {
    const { size } = statSync(file);
    const done = Promise.withResolvers<void>();
    const entry = archive.entry({ name, size, mode: 0o644, mtime: EPOCH }, (error) =>
      error ? done.reject(error) : done.resolve(),
    );
    await Promise.all([pipeline(createReadStream(file), entry as unknown as NodeJS.WritableStream), done.promise]);
  };
  try {
    const config = readSmallFile(blobPath(manifest.config.digest), MAX_CONFIG_BYTES);
    archive.entry({ name: manifest.config.digest, mode: 0o644, mtime: EPOCH }, config);
    const names: string[] = [];
    for (const layer of manifest.layers) {
      throwIfAborted(signal);
      let file = blobPath(layer.digest);
      let hex = parseDigest(layer.digest).hex;
      if (!isGzip(file)) {
        rmSync(`${path}.layer`, { force: true });
        const packed = await gzipLayer(decompressed(createReadStream(file)), `${path}.layer`);
        file = `${path}.layer`;
        hex = parseDigest(packed.digest).hex;
      }
      const name = `${hex}.tar.gz`;
      // A layer may occur twice in an image, but only once in the archive.
      if (!names.includes(name)) await add(name, file);
      names.push(name);
    }
    const list = [{ Config: manifest.config.digest, RepoTags: [], Layers: names }];
    archive.entry({ name: "manifest.json", mode: 0o644, mtime: EPOCH }, JSON.stringify(list));
    archive.finalize();
    await written;
  } catch (error) {
    archive.destroy();
    await written.catch(() => {});
    throw error;
  }
}

function isGzip(path: string): boolean {
  const descriptor = openSync(path, "r");
  try {
    const head = Buffer.alloc(2);
    return readSync(descriptor, head, 0, 2, 0) === 2 && head.readUInt16BE(0) === 0x1f8b;
  } finally {
    closeSync(descriptor);
  }
}
