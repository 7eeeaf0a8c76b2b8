import { join } from "node:path";
import { BoundedCache, stringBytes } from "../base/bounded-cache.ts";
import { ImageError, unlessMissing } from "../base/errors.ts";
import { fileStamp } from "../base/file-stamp.ts";
import { throwIfAborted } from "../base/single-flight.ts";
import { type LayoutName, parseImageName, type Reference } from "../image/image-name.ts";
import { MAX_MANIFEST_BYTES } from "../image/manifest.ts";
import { hostPlatform, type Platform, printPlatform } from "../image/platform.ts";
import { layoutSource, readLayoutEntry } from "../store/layout.ts";
import type { NameRecord } from "../store/name-store.ts";
import { findRecord, type Image, type ImageOptions, named, type StoreInternals } from "../store/store.ts";
import { pullImage } from "./pull-image.ts";

/**
 * Returns an image by its name: from the store, from a layout, or from its registry.
 *
 * @throws ImageError
 */
export async function imageByName(inside: StoreInternals, name: string, options: ImageOptions): Promise<Image> {
  throwIfAborted(options.signal);
  try {
    const parsed = parseImageName(name, options);
    return await (parsed.kind === "layout"
      ? layoutImage(inside, parsed, options)
      : namedImage(inside, parsed, options));
  } catch (error) {
    throw ImageError.from(error, { image: name });
  }
}

async function namedImage(inside: StoreInternals, reference: Reference, options: ImageOptions): Promise<Image> {
  const { pullPolicy = "IfNotPresent", platform = hostPlatform() } = options;
  const record = findRecord(inside, reference);
  if (record?.name === reference.localName) return fromStore(inside, record, platform, options);
  if (pullPolicy !== "Always") {
    // If the store has lost a part of an image, it is pulled again.
    const found =
      record === undefined ? undefined : await fromStore(inside, record, platform, options).catch(unlessMissing);
    if (found !== undefined) return found;
    if (pullPolicy === "Never")
      throw new ImageError("NotFound", "not in the local store, and the pull policy is Never");
  }
  return pullImage(inside, reference, platform, options);
}

async function fromStore(
  inside: StoreInternals,
  record: NameRecord,
  platform: Platform,
  options: ImageOptions,
): Promise<Image> {
  const { images, names } = inside;
  const key = printPlatform(platform);
  const manifest = record.manifests[key];
  const known = manifest === undefined ? undefined : images.find(manifest);
  if (known !== undefined) return named(record.name, known);
  const { digest, mediaType } = record.target;
  const bytes = images.readDocument(digest, MAX_MANIFEST_BYTES);
  if (bytes === undefined) throw new ImageError("NotFound", "not in the store", { digest });
  const top = { bytes, digest, ...(mediaType !== "" && { mediaType }) };
  const { onProgress, signal } = options;
  const ready = await images.prepare(top, { name: record.name, source: undefined, platform, onProgress, signal });
  if (manifest !== ready.digest) names.put({ ...record, manifests: { ...record.manifests, [key]: ready.digest } });
  return named(record.name, ready);
}

/** The manifest of a layout's tag, valid while `index.json` has the same stamp. */
interface LayoutEntry {
  readonly key: string;
  readonly stamp: string;
  readonly manifest: string;
}

/** Callers choose the names of layouts. An evicted one is read again. */
const MAX_LAYOUTS_BYTES = 1024 * 1024;

const layoutEntries = new WeakMap<StoreInternals, BoundedCache<LayoutEntry>>();

function layoutsOf(inside: StoreInternals): BoundedCache<LayoutEntry> {
  const known = layoutEntries.get(inside);
  if (known !== undefined) return known;
  const cache = new BoundedCache<LayoutEntry>(MAX_LAYOUTS_BYTES, (entry) => stringBytes(Object.values(entry)));
  layoutEntries.set(inside, cache);
  return cache;
}

async function layoutImage(inside: StoreInternals, layout: LayoutName, options: ImageOptions): Promise<Image> {
  const { images } = inside;
  const { platform = hostPlatform(), onProgress, signal } = options;
  const name = layout.toString();
  const cache = layoutsOf(inside);
  const key = `${name} ${printPlatform(platform)}`;
  const stamp = fileStamp(join(layout.dir, "index.json")) ?? "";
  const cached = cache.get(key);
  const known = cached?.stamp === stamp ? images.find(cached.manifest) : undefined;
  if (known !== undefined) return named(name, known);
  const entry = readLayoutEntry(layout);
  const source = layoutSource(layout);
  const top = await source.manifest({ digest: entry.digest }, signal);
  if (top.bytes.length !== entry.size)
    throw new ImageError("SizeMismatch", `manifest of ${top.bytes.length} bytes instead of ${entry.size}`);
  if (images.readDocument(top.digest, MAX_MANIFEST_BYTES) === undefined) images.storeDocument(top.digest, top.bytes);
  const ready = await images.prepare(
    { ...top, mediaType: entry.mediaType },
    { name, source, platform, onProgress, signal },
  );
  cache.set(key, { key, stamp, manifest: ready.digest });
  return named(name, ready);
}
