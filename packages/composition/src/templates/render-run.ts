import { type JsonObject, type KubernetesObject, newObject } from "@xfn/json";
import { LABEL_COMPOSITE } from "../api/labels.ts";
import { type FieldPath, formatFieldPath } from "../field-path/field-path.ts";
import { documentValue } from "../field-path/value.ts";
import { isObject } from "../values/json.ts";
import type { WrongText } from "../values/metadata-texts.ts";
import { field, setText, textOf } from "../values/object-fields.ts";
import { applyPatch, mergeObserved, type PatchTarget, patchError } from "./apply-patch.ts";
import type { CompiledPatch } from "./compile-patch.ts";
import type { CompiledSpec, CompiledTemplate } from "./compile-spec.ts";
import { type CompositeIdentity, compositeIdentity, setComposedMetadata, wrongNameType } from "./composed-metadata.ts";
import { CompositeOverlay } from "./composite-overlay.ts";
import { copyBase } from "./copy-base.ts";
import { kindOfObject } from "./object-kind.ts";
import type { RenderedTemplate, RenderedTemplates, TemplatesInput, TemplateWrite } from "./rendering.ts";
import { TemplateError } from "./template-error.ts";
import { WriteBudget } from "./write-budget.ts";

/** One run of all templates for one XR, with the state that later patches read. */
export class RenderRun {
  readonly #spec: CompiledSpec;
  readonly #input: TemplatesInput;
  readonly #composite: SharedObject;
  readonly #environment: SharedObject | undefined;
  readonly #overlay: CompositeOverlay = new CompositeOverlay();
  readonly #rendered: Map<string, RenderedTemplate> = new Map();
  /** Results by name. As in Crossplane, a template with a name of an earlier one continues with its result. */
  readonly #left: Map<string, KubernetesObject> = new Map();
  readonly #budget: WriteBudget = new WriteBudget();
  #identity: CompositeIdentity | undefined;

  constructor(spec: CompiledSpec, input: TemplatesInput) {
    this.#spec = spec;
    this.#input = input;
    this.#composite = new SharedObject(input.composite);
    this.#environment = input.environment === undefined ? undefined : new SharedObject(input.environment);
  }

  render(): RenderedTemplates {
    this.#patchEnvironment();
    for (const template of this.#spec.templates) this.#renderTemplate(template);
    const desiredComposite = this.#overlay.of(this.#composite.value);
    return {
      composite: this.#composite.value,
      ...(desiredComposite !== undefined && { desiredComposite }),
      ...(this.#environment !== undefined && { environment: this.#environment.value }),
      resources: [...this.#rendered.values()],
    };
  }

  #patchEnvironment(): void {
    const environment = this.#environment;
    if (environment === undefined) return;
    const target = this.#environmentTarget(environment);
    const composite = this.#compositeTarget(undefined);
    for (const patch of this.#spec.environment) {
      try {
        if (patch.direction === "toComposed") applyPatch(patch, this.#composite.value, target);
        else applyPatch(patch, environment.value, composite);
      } catch (error) {
        throw patchError(error, patch);
      }
    }
  }

  #renderTemplate(template: CompiledTemplate): void {
    const { name, index } = template;
    const existing = this.#left.get(name) ?? this.#input.observed.get(name);
    if (existing !== undefined && template.toComposite.length > 0) this.#patchComposite(template, existing);
    const dropped: WrongText[] = [];
    const rendered = this.#renderComposed(template, existing, dropped);
    // An error of an earlier template with this name remains.
    const error = rendered instanceof TemplateError ? rendered : this.#rendered.get(name)?.error;
    const outcome = error === undefined ? { resource: rendered as KubernetesObject } : { error };
    const result: RenderedTemplate = { name, template: index, ...outcome };
    if (dropped.length > 0) result.dropped = dropped;
    this.#rendered.set(name, result);
  }

  #patchComposite(template: CompiledTemplate, existing: KubernetesObject): void {
    const target = this.#compositeTarget(template.name);
    for (const patch of template.toComposite) {
      try {
        applyPatch(patch, existing, target);
      } catch (error) {
        throw patchError(error, patch);
      }
    }
  }

  #renderComposed(
    template: CompiledTemplate,
    existing: KubernetesObject | undefined,
    dropped: WrongText[],
  ): KubernetesObject | TemplateError {
    const { base, name, source } = template;
    if (base instanceof TemplateError) {
      this.#left.set(name, existing ?? newObject());
      return base;
    }
    const resource = copyBase(base) as KubernetesObject;
    this.#left.set(name, resource);
    const existingKind = existing === undefined ? "" : kindOfObject(existing);
    if (existingKind !== "" && existingKind !== kindOfObject(base)) {
      const message = `its base is of another kind than the ${existingKind} that exists for it; give the template another name`;
      return new TemplateError("KindChanged", source, message);
    }
    this.#identity ??= compositeIdentity(this.#composite.value);
    if (this.#identity.composite === "") {
      const message = `the composite resource has no label ${LABEL_COMPOSITE}, which names what is composed`;
      return new TemplateError("NoCompositeLabel", source, message);
    }
    nameComposed(resource, existing, this.#identity.composite);
    const problem = this.#patchComposed(template, resource);
    if (problem !== undefined) return problem;
    const wrong = wrongNameType(resource);
    if (wrong !== undefined) {
      const message = `a patch sets metadata.name to ${wrong}; convert the value to a string`;
      return new TemplateError("InvalidName", source, message);
    }
    this.#identity ??= compositeIdentity(this.#composite.value);
    if (!setComposedMetadata(resource, name, this.#identity, dropped)) {
      const message =
        "its metadata.ownerReferences name another controller; leave controllers to the composite resource";
      return new TemplateError("OtherController", source, message);
    }
    return this.#mergeObserved(template, resource) ?? resource;
  }

  #mergeObserved({ name, patches }: CompiledTemplate, resource: JsonObject): TemplateError | undefined {
    const observed = this.#input.observed.get(name);
    if (observed === undefined) return undefined;
    for (const patch of patches) {
      try {
        mergeObserved(patch, resource, observed, this.#budget);
      } catch (error) {
        return patchError(error, patch);
      }
    }
    return undefined;
  }

  #patchComposed(template: CompiledTemplate, resource: JsonObject): TemplateError | undefined {
    const environment = this.#environment;
    const target = this.#composedTarget(template.name, resource);
    for (const patch of template.patches) {
      try {
        if (patch.direction === "toComposed") applyPatch(patch, this.#composite.value, target);
        else if (environment !== undefined) {
          if (patch.direction === "environmentToComposed") applyPatch(patch, environment.value, target);
          else applyPatch(patch, resource, this.#environmentTarget(environment));
        }
      } catch (error) {
        return patchError(error, patch);
      }
    }
    return undefined;
  }

  #compositeTarget(template: string | undefined): PatchTarget {
    return {
      budget: this.#budget,
      writable: () => this.#composite.writable(),
      wrote: (path, patch, value) => {
        this.#identity = undefined;
        this.#overlay.note(path, value, patch.merge, this.#composite.value);
        this.#reportWrite(null, template, path, patch);
      },
    };
  }

  #composedTarget(name: string, resource: JsonObject): PatchTarget {
    const target = { budget: this.#budget, writable: () => resource };
    if (this.#input.onWrite === undefined) return target;
    return { ...target, wrote: (path, patch) => this.#reportWrite(name, name, path, patch) };
  }

  #environmentTarget(environment: SharedObject): PatchTarget {
    return { budget: this.#budget, writable: () => environment.writable() };
  }

  #reportWrite(resource: string | null, template: string | undefined, path: FieldPath, patch: CompiledPatch): void {
    const { onWrite } = this.#input;
    if (onWrite === undefined) return;
    const text = patch.wildcards ? formatFieldPath(path) : patch.toText;
    const write: TemplateWrite = { resource, path: text, source: patch.source, from: patch.origin };
    if (template !== undefined) write.template = template;
    onWrite(write);
  }
}

/** An object of the input that is copied before the first write. */
class SharedObject {
  value: JsonObject;
  #copied = false;

  constructor(value: JsonObject) {
    this.value = value;
  }

  writable(): JsonObject {
    if (!this.#copied) {
      this.value = documentValue(this.value) as JsonObject;
      this.#copied = true;
    }
    return this.value;
  }
}

/** Sets the name of the existing object, or a generateName. */
function nameComposed(resource: JsonObject, existing: KubernetesObject | undefined, composite: string): void {
  const metadata = resource["metadata"];
  if (!isObject(metadata)) return;
  metadata["generateName"] = `${composite}-`;
  const found = existing === undefined ? undefined : field(existing, "metadata");
  if (!isObject(found)) return;
  for (const name of ["name", "namespace"]) setText(metadata, name, textOf(found, name));
}
