import type { Definition } from "@xfn/composition/definition";
import { AccountRights } from "./account-rights.ts";
import type { Access, Actor, OwnAccess } from "./actor.ts";

/** The actors of the instances of one definition. */
export interface Actors {
  /** The controller, for conditions and for its own objects. */
  readonly own: Actor;
  /**
   * The account of the definition, for its XRs, their Secrets and their claims; or the controller if the definition
   * names none.
   */
  readonly xr: Actor;
}

export function actorsOf(access: OwnAccess, { spec }: Definition): Actors {
  const own = ownActor(access);
  const account = spec.serviceAccountRef;
  return { own, xr: account === undefined ? own : new AccountRights(access, account, "the definition") };
}

function ownActor({ client, informers, composed, required }: Access): Actor {
  return {
    client,
    informers,
    composed,
    required,
    title: undefined,
    mayRead: () => true,
    has: async () => true,
    require: async () => undefined,
    requireAccount: async () => undefined,
  };
}
