import {
  ANNOTATION_RESOURCE_NAME,
  type FieldPath,
  type FieldPathSegment,
  LABEL_CLAIM_NAME,
  LABEL_CLAIM_NAMESPACE,
  LABEL_COMPOSITE,
  parseFieldPath,
} from "@xfn/composition";
import type { TemplateWrite } from "../outcome/step-record.ts";
import type { TraceOrigin } from "./trace.ts";

/** The writes of patches below a path: the last write of this path, and the writes below it. */
interface Written {
  write?: { order: number; write: TemplateWrite };
  below: Map<FieldPathSegment, Written>;
}

const IDENTITY_LABELS: readonly FieldPathSegment[] = [LABEL_COMPOSITE, LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE];

/** The origin of each field in a step of templates: a patch, the template's base, or the pipeline itself. */
export class TemplateOrigins {
  readonly #step: Pick<TraceOrigin, "step" | "stepIndex">;
  readonly #written: Map<string | null, Written> = new Map();
  readonly #bases: ReadonlyMap<string, string>;
  /** One shared object for each origin, because there are far more fields. */
  readonly #known: Map<TemplateWrite | string, TraceOrigin> = new Map();

  /**
   * @param writes in order of writing
   * @param bases the position of each template's base in the Composition, by the template's name
   */
  constructor(
    step: Pick<TraceOrigin, "step" | "stepIndex">,
    writes: readonly TemplateWrite[],
    bases: ReadonlyMap<string, string>,
  ) {
    this.#step = step;
    this.#bases = bases;
    const paths = new Map<string, FieldPath>();
    for (const [order, write] of writes.entries()) {
      let path = paths.get(write.path);
      if (path === undefined) paths.set(write.path, (path = parseFieldPath(write.path)));
      this.#note(path, order, write);
    }
  }

  #note(path: FieldPath, order: number, write: TemplateWrite): void {
    let node = getOrMake(this.#written, write.resource);
    for (const segment of path) node = getOrMake(node.below, segment);
    node.write = { order, write };
  }

  /** The origin of a field of an entry's resource: the last patch that wrote the field or a parent of it. */
  of(entry: string | null, path: FieldPath): TraceOrigin {
    if (entry !== null && isIdentity(path)) return this.#identity(entry);
    let node = this.#written.get(entry);
    let last = node?.write;
    for (const segment of path) {
      node = node?.below.get(segment);
      if (node?.write !== undefined && (last === undefined || node.write.order > last.order)) last = node.write;
    }
    if (last !== undefined) return this.#patch(last.write);
    if (entry === null || isName(path)) return this.#identity(entry);
    return this.#base(entry);
  }

  #patch(write: TemplateWrite): TraceOrigin {
    const { template, source, from } = write;
    return this.#once(write, () => ({ ...this.#step, ...(template !== undefined && { template }), source, from }));
  }

  #base(template: string): TraceOrigin {
    const source = this.#bases.get(template);
    return this.#once(`base ${template}`, () => ({
      ...this.#step,
      template,
      ...(source !== undefined && { source }),
      from: "base",
    }));
  }

  #identity(template: string | null): TraceOrigin {
    return this.#once(`identity ${template}`, () => ({
      ...this.#step,
      ...(template !== null && { template }),
      from: "identity",
    }));
  }

  #once(key: TemplateWrite | string, make: () => TraceOrigin): TraceOrigin {
    let origin = this.#known.get(key);
    if (origin === undefined) this.#known.set(key, (origin = make()));
    return origin;
  }
}

function getOrMake<K>(nodes: Map<K, Written>, key: K): Written {
  let node = nodes.get(key);
  if (node === undefined) nodes.set(key, (node = { below: new Map() }));
  return node;
}

/** Fields that the pipeline sets after the patches. */
function isIdentity([first, field, key]: FieldPath): boolean {
  if (first !== "metadata") return false;
  if (field === "labels") return key !== undefined && IDENTITY_LABELS.includes(key);
  return field === "ownerReferences" || (field === "annotations" && key === ANNOTATION_RESOURCE_NAME);
}

/** Fields that the pipeline sets before the patches, and never the base. */
function isName([first, field]: FieldPath): boolean {
  return first === "metadata" && (field === "name" || field === "generateName" || field === "namespace");
}
