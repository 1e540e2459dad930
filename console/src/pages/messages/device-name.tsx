import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { shortId } from "~/ui/copy";
import { deviceQuery } from "./queries";

// The name of a device by its id; the id itself while it is not known, or may not be read.
export function DeviceName({ deviceId }: { deviceId: string }) {
  const { data } = useQuery(deviceQuery(deviceId));
  return (
    <Link to="/d/$deviceId" params={{ deviceId }} title={deviceId}>
      {data?.name ?? shortId(deviceId)}
    </Link>
  );
}
