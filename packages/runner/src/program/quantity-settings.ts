import type { Reader } from "@xfn/program";
import { parseQuantity } from "@xfn/runner-grpc";

/** Bytes of a Kubernetes quantity. */
export const memory: Reader<number> = (text) => {
  const bytes = parseQuantity(text, 1);
  if (bytes === undefined) throw new Error('it is to be a positive quantity of bytes such as "256Mi"');
  return bytes;
};

/** Cores of a Kubernetes quantity. */
export const cpu: Reader<number> = (text) => {
  const thousandths = parseQuantity(text, 1000);
  if (thousandths === undefined) throw new Error('it is to be a positive quantity of cores such as "500m"');
  return thousandths / 1000;
};
