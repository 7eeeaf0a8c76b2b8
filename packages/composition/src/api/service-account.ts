import { type ObjectSchema, object } from "../api-schema/object.ts";
import { matching, required } from "../api-schema/schema.ts";

export interface ServiceAccountReference {
  namespace: string;
  name: string;
}

/** Names as in Kubernetes: anything else could be another user, such as in `system:serviceaccount:a:b`. */
export const SERVICE_ACCOUNT: ObjectSchema<ServiceAccountReference> = object<ServiceAccountReference>({
  namespace: required(
    matching(63, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "must be lower-case letters, digits and dashes"),
    "the namespace of the service account",
  ),
  name: required(
    matching(253, /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/, "must be lower-case letters, digits, dashes and dots"),
    "the name of the service account",
  ),
});
