import type { Definition } from "@xfn/composition/definition";
import type { ComposedWatches, RequiredWatches } from "../objects/context.ts";
import { AccountRights } from "./account-rights.ts";
import type { Actor, OwnAccess } from "./actor.ts";

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

export function actorsOf(options: OwnAccess, { spec }: Definition): Actors {
  const own = ownActor(options);
  const account = spec.serviceAccountRef;
  return { own, xr: account === undefined ? own : new AccountRights(own, options.now, account, "the definition") };
}

/** Without watches, changes are noticed at polls. */
const NO_COMPOSED_WATCHES: ComposedWatches = {
  watch: () => undefined,
  cache: () => undefined,
  problem: () => undefined,
};
const NO_REQUIRED_WATCHES: RequiredWatches = {
  watch: () => undefined,
  forget: () => undefined,
  cache: () => undefined,
};

function ownActor(options: OwnAccess): Actor {
  const { client, informers, composed = NO_COMPOSED_WATCHES, required = NO_REQUIRED_WATCHES } = options;
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
