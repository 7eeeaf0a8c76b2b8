import { claimFieldOf, hasReclaimPolicy } from "@xfn/composition/definition";
import { textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { ageOf } from "../objects/backup-age.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FINALIZER_CLAIM } from "../objects/finalizers.ts";
import type { SeenComposite } from "./claim-binding.ts";
import { ownSpecFields } from "./claim-fields.ts";
import type { Subject } from "./claim-port.ts";

/** Whether a composite is deleted or kept when its claim is deleted (`spec.reclaimPolicy`). */
export interface Reclaim {
  readonly policy: "Delete" | "Retain";
  /** Whether a user has set it. Otherwise it is the claim controller's own default. */
  readonly isGiven: boolean;
}

/**
 * The policy of a composite. A user's value wins. By default a composite is deleted with the claim that it was created
 * for. Any other composite is retained, because other users may depend on it.
 */
export function reclaimOf({ claim, definition }: Subject, seen: SeenComposite): Reclaim {
  const { composite } = seen;
  const text = hasReclaimPolicy(definition) ? textAt(composite, "spec", "reclaimPolicy") : undefined;
  const present = text === "Delete" || text === "Retain" ? text : undefined;
  if (present !== undefined && ownSpecFields(composite)["f:reclaimPolicy"] === undefined)
    return { policy: present, isGiven: true };
  // Depends only on state that survives a crash. The value that this claim recorded when it was bound stays, also if a
  // restore gave the claim another UID.
  const isRecorded = textAt(composite, "spec", claimFieldOf(definition), "uid") === claim.metadata.uid;
  const policy = unboundPolicy(seen) ?? (isRecorded || isRestored(claim) ? present : undefined);
  return { policy: policy ?? (wasProvisionedElsewhere(claim, composite) ? "Delete" : "Retain"), isGiven: false };
}

/** Only a restore from a backup creates a claim with the finalizer. */
function isRestored(claim: LiveObject): boolean {
  const path = ["f:metadata", "f:finalizers", `v:${JSON.stringify(FINALIZER_CLAIM)}`];
  return ["foreign", "older"].includes(ageOf(claim, { managers: [FIELD_MANAGERS.claim], path }));
}

function unboundPolicy({ binding, isProvisioned }: SeenComposite): Reclaim["policy"] | undefined {
  if (isProvisioned) return "Delete";
  return binding === "this" || binding === "namesake" ? undefined : "Retain";
}

/** Whether Crossplane created the composite for the claim: its name then begins with the claim's, and it is younger. */
function wasProvisionedElsewhere(claim: LiveObject, composite: LiveObject): boolean {
  const claimed = Date.parse(textAt(claim, "metadata", "creationTimestamp") ?? "");
  const created = Date.parse(textAt(composite, "metadata", "creationTimestamp") ?? "");
  return composite.metadata.name.startsWith(`${claim.metadata.name}-`) && created >= claimed;
}
