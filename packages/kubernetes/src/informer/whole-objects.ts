import { isObject } from "@xfn/json";
import type { LiveObject } from "../client/client.ts";
import { CacheBudget } from "./cache-budget.ts";
import type { InformerOptions } from "./informer.ts";
import { objectBytes } from "./object-bytes.ts";

/**
 * Decides which objects an informer keeps whole, and counts their bytes. It replaces the others by stubs: what
 * identifies an object, its version, and its controller.
 */
export class WholeObjects {
  readonly #keepWhole: InformerOptions["keepWhole"];
  readonly #maxBytes: number;
  readonly #budget: CacheBudget;
  /** Whether each object is kept, so that none is measured. */
  readonly isUnbounded: boolean;
  /** The sizes of whole objects. */
  readonly #sizes = new WeakMap<LiveObject, number>();
  /** Why an object is a stub. */
  readonly #stubs = new WeakMap<LiveObject, "unwanted" | "full">();
  #listedBytes = 0;
  #bytes = 0;
  #refused = 0;
  #stopped = false;

  constructor({ keepWhole, maxBytes, budget }: InformerOptions) {
    this.#keepWhole = keepWhole;
    this.#maxBytes = maxBytes ?? Number.POSITIVE_INFINITY;
    this.#budget = budget ?? new CacheBudget(Number.POSITIVE_INFINITY);
    this.isUnbounded = keepWhole === undefined && maxBytes === undefined && budget === undefined;
  }

  /** The bytes of the whole objects in the cache. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The objects in the cache that are stubs because there was no space for them. */
  get refused(): number {
    return this.#refused;
  }

  isWhole(object: LiveObject): boolean {
    return !this.#stubs.has(object);
  }

  /** Whether an object is a stub because there was no space for it. */
  isRefused(object: LiveObject): boolean {
    return this.#stubs.get(object) === "full";
  }

  /** Begins a list: it replaces the cache, whose objects no longer count. */
  beginList(): void {
    this.#listedBytes = 0;
  }

  /** The form in which the cache keeps an object of a list. */
  ofList(object: LiveObject): LiveObject {
    const form = this.#form(object, this.#listedBytes);
    this.#listedBytes += this.#sizes.get(form) ?? 0;
    return form;
  }

  /** The form in which the cache keeps an object of a watch or of a read. @param before what it replaces */
  ofChange(object: LiveObject, before: LiveObject | undefined): LiveObject {
    return this.#form(object, this.#bytes - this.#sizeOf(before));
  }

  /** Counts an object that the cache has taken. */
  added(object: LiveObject): void {
    this.#count(this.#sizeOf(object));
    if (this.isRefused(object)) this.#refused++;
  }

  /** No longer counts an object that the cache has dropped. */
  removed(object: LiveObject): void {
    this.#count(-this.#sizeOf(object));
    if (this.isRefused(object)) this.#refused--;
  }

  /** Gives the budget back, and uses none any more: a read can end later. */
  stop(): void {
    this.#count(-this.#bytes);
    this.#stopped = true;
  }

  #form(object: LiveObject, usedBytes: number): LiveObject {
    if (this.isUnbounded) return object;
    if (this.#keepWhole !== undefined && !this.#keepWhole(object)) return this.#stub(object, "unwanted");
    const size = objectBytes(object);
    const others = this.#budget.usedBytes - this.#bytes;
    const isFull = usedBytes + size > this.#maxBytes || others + usedBytes + size > this.#budget.maxBytes;
    if (isFull) return this.#stub(object, "full");
    this.#sizes.set(object, size);
    return object;
  }

  #count(bytes: number): void {
    if (this.#stopped) return;
    this.#bytes += bytes;
    this.#budget.use(bytes);
  }

  #sizeOf(object: LiveObject | undefined): number {
    return (object && this.#sizes.get(object)) ?? 0;
  }

  #stub({ apiVersion, kind, metadata }: LiveObject, why: "unwanted" | "full"): LiveObject {
    const { name, namespace, uid, resourceVersion } = metadata;
    const references = metadata["ownerReferences"];
    const controller = Array.isArray(references)
      ? references.filter((reference) => isObject(reference) && reference["controller"] === true).slice(0, 1)
      : [];
    const small = { name, namespace, uid, resourceVersion, ownerReferences: controller };
    // A copy: the texts could be parts of the text of a whole page, and keep that in memory.
    const stub = JSON.parse(JSON.stringify({ apiVersion, kind, metadata: small })) as LiveObject;
    this.#stubs.set(stub, why);
    return stub;
  }
}
