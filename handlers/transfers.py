"""The harbour's water taxis: QUOTE /transfers/{quay}."""

from agtp_handlers import AgtpError, handler, run

SEATS = 8
MINUTES = {"ferry-terminal": 12, "old-lighthouse": 25, "airport-pier": 40}


@handler
def quote(call, *, quay: str, guests: int, night: bool = False):
    minutes = MINUTES.get(quay)
    if minutes is None:
        raise AgtpError("unknown_quay", f"no boat calls at {quay}", {"quays": sorted(MINUTES)})
    boats = -(-guests // SEATS)
    price = boats * minutes * (3 if night else 2)
    call.log.info("quoted a transfer", quay=quay, boats=boats)
    return {"minutes": minutes, "boats": boats, "total_price": price, "currency": "EUR"}


if __name__ == "__main__":
    run()
