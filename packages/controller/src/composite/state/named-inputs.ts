import type { ServiceAccountReference } from "@xfn/composition/definition";
import type { LiveObject, ObjectReference, ResourceKind } from "@xfn/kubernetes";
import type { RequiredWatches, Selection } from "../../objects/context.ts";
import { referenceOf, SECRETS, SERVICE_ACCOUNTS } from "../../objects/kinds.ts";
import { objectKey } from "../../objects/references.ts";

const KINDS: ReadonlyMap<string, ResourceKind> = new Map([SECRETS, SERVICE_ACCOUNTS].map((kind) => [kind.kind, kind]));

/**
 * The Secrets and service accounts that the reconciles of one XR read by name: credentials, pull secrets, and composing
 * accounts. Each one is watched by its name, and a change reconciles the XR at once. If the controller may not watch
 * them, the next poll sees the change.
 */
export class NamedInputs {
  #required: RequiredWatches | undefined;
  /** The objects that the last complete reconcile read. */
  #complete: ReadonlyMap<string, Selection> = new Map();
  #isWatching = false;
  #read: Map<string, Selection> = new Map();

  /** Begins a reconcile. @param required the controller's own watches; undefined: nothing is watched */
  begin(required: RequiredWatches | undefined): void {
    this.#required = required;
    this.#read = new Map();
  }

  /** Records that the reconcile depends on an object, which need not exist. */
  note(reference: ObjectReference): void {
    const selection = selectionOf(reference);
    if (selection !== undefined) this.#read.set(objectKey(reference), selection);
  }

  /** Records that the reconcile composes with the rights of a service account. */
  noteAccount(account: ServiceAccountReference | undefined): void {
    if (account !== undefined) this.note(referenceOf(SERVICE_ACCOUNTS, account.name, account.namespace));
  }

  /** The watched object; undefined if it is not watched: read it live. */
  known(reference: ObjectReference): { readonly object: LiveObject | undefined } | undefined {
    const selection = selectionOf(reference);
    const cache = selection && this.#required?.cache(selection);
    return cache && { object: cache.list()[0] };
  }

  /**
   * Ends a reconcile. A failed one may not have read everything, so the objects of the last complete one stay watched.
   */
  end(xr: LiveObject, isComplete: boolean): void {
    if (isComplete) this.#complete = this.#read;
    const watched = new Map([...this.#complete, ...this.#read]);
    if (watched.size > 0 || this.#isWatching) this.#required?.watch(xr, [...watched.values()], "inputs");
    this.#isWatching = watched.size > 0;
  }
}

function selectionOf({ kind, name, namespace }: ObjectReference): Selection | undefined {
  const watched = KINDS.get(kind);
  // A field selector would interpret these characters.
  if (watched === undefined || /[,=\\]/.test(name)) return undefined;
  return { kind: watched, namespace, fieldSelector: `metadata.name=${name}` };
}
