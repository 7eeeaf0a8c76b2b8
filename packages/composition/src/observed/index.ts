// @xfn/composition/observed: the rules of composed resources alone, for programs that evaluate no Composition.
export { ConnectionDetailError, extractConnectionDetails } from "./connection-details.ts";
export { isReady, isReadyUnobserved, ReadinessError } from "./readiness.ts";
