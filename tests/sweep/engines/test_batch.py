"""The batch engine: blocks, the discount, a cap that holds, and batches that outlive a process."""

import asyncio
from decimal import Decimal

import pytest
from tests.batch.services import MODELS, SERVICES, Messages
from tests.sweep.runs import begun, runner

import pondero
from pondero.batch import list_batches, steps
from pondero.errors import NotFound, PonderoError, RateLimited, Unsupported
from pondero.store import price_usage
from pondero.sweep import BatchEngine, Run, compute_results, make_outline
from pondero.sweep.run.prices import max_answer_cost, max_trial_cost

KEY = "k-not-a-real-one"


@pytest.fixture(autouse=True)
def _own_folders(data_dir, config_dir, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    return data_dir


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch):
    """Ask a service again at once, and not after seconds."""
    monkeypatch.setattr(steps, "asleep", lambda _: asyncio.sleep(0))


class Paid(Messages):
    """A service that needs a key, so that what is there outlives the process."""

    needs_key = True


def engine(service):
    return BatchEngine(transport=lambda _repeat: service)


def asked(run, other, **options):
    async def main():
        with run.hold_lock(known=other.begin(run.facts.run)):
            driver = runner(run, other, **options)
            return driver, await driver.finish()

    return asyncio.run(main())


def test_a_whole_sweep_on_batches_has_a_pilot_and_blocks_and_counts_the_discount():
    rows = [{"input": f"What is {n} * 23?", "target": str(n * 23)} for n in range(40)]
    options = {"levels": "off,high", "judge": "numeric", "offline": True, "max_tokens": 3000,
               "past_gate": True}  # fmt: skip
    batched = pondero.sweep(rows, "claude-opus-5", engine="batch", **options)
    assert {arm.n for arm in batched.arms} == {10}  # the pilot shows off to be hopeless
    assert list_batches()[0].owner == f"sweep {batched.run}"
    assert len(list_batches()) <= 2
    with Run.open(batched.run) as run:
        for each in run.answers().values():
            live = price_usage("anthropic", "claude-opus-5", each.usage)
            assert Decimal(each.cost) * 2 == live


def test_bounds_count_the_discount_and_services_without_batches_are_refused():
    rows = [{"input": "What is 2 * 23?", "target": "46"}] * 2
    options = {"models": ("claude-opus-5",), "judge": "numeric", "max_tokens": 1000}
    outline = make_outline(rows, {**options, "engine": "batch"})
    arm, question = outline.arms[0], outline.questions[0]
    live = max_answer_cost(arm, question, system=None, max_tokens=1000)
    assert max_trial_cost(outline.spec, arm, question) * 2 == live
    with pytest.raises(Unsupported, match="these have one: anthropic"):
        make_outline(
            rows, {**options, "models": ("command-a-reasoning-08-2025",), "engine": "batch"}
        )


def interrupt(run, service):
    """Stop a run while its batch is at the service, and return its driver."""

    async def main():
        other = engine(service)
        with run.hold_lock(known=other.begin(run.facts.run)):
            driver = runner(run, other)
            work = asyncio.ensure_future(driver.finish())
            while not (service.made and list_batches()[0].state == "running"):  # noqa: ASYNC110
                await asyncio.sleep(0)
            driver.stop("interrupted")
            await work
            return driver

    return asyncio.run(main())


def test_what_was_left_at_the_service_is_collected_and_nothing_is_sent_twice():
    service = Paid(after=10_000)
    with begun(20, once=True, pilot=0, budget=50.0, max_tokens=1000) as run:
        left = interrupt(run, service)
        assert left.budget.flights == 40
        assert run.answers() == {}
        assert run.lost == (0, Decimal(0))
        service.after = 0
        driver, _ = asked(run, engine(service))
        assert len(run.answers()) == 40
        assert run.lost == (0, Decimal(0))  # what was held was not counted as lost
        assert (driver.budget.flights, driver.budget.flying) == (0, Decimal(0))
        found = compute_results(run).arms[0]
        assert (found.n, found.seconds) == (20, None)  # how long an answer took is not known
    assert len(service.made) == len(service.creates) == 1


def test_a_cap_is_never_passed_and_the_rest_is_sent_when_there_is_room():
    service = Paid()
    with begun(20, once=True, pilot=0, budget=0.35, max_tokens=1000) as run:
        other = engine(service)
        most = []

        async def main():
            with run.hold_lock(known=other.begin(run.facts.run)):
                driver = runner(run, other)
                driver.progress = lambda _: most.append(driver.budget.spent + driver.budget.flying)
                await driver.finish()
                return driver

        driver = asyncio.run(main())
        assert len(service.made) > 1  # the bound of all of them together is above the cap
        assert max(most) <= Decimal("0.35")
        assert driver.budget.spent <= Decimal("0.35")
        assert len(run.answers()) == 40


def test_what_expired_is_not_paid_for_and_is_asked_again_on_resume():
    service = Paid(ends=lambda number: "expired" if number < 4 else "answered")
    with begun(10, once=True, pilot=0, budget=50.0, max_tokens=1000) as run:
        asked(run, engine(service))
        failed = [each for each in run.answers().values() if each.error]
        assert len(failed) == 4
        assert run.lost == (0, Decimal(0))
        run.forget_errors()
        service.ends = lambda _: "answered"
        asked(run, engine(service))
        assert not [each for each in run.answers().values() if each.error]
        sizes = [len(made.asks) for made in service.made.values()]
        assert sizes == [20, 4]


def test_a_batch_whose_results_are_gone_counts_as_paid():
    service = Paid()
    with begun(10, once=True, pilot=0, budget=50.0, max_tokens=1000) as run:
        other = engine(service)
        with_batches = service.send

        def forgetful(request, timeouts=None):
            if request.method == "GET":
                service.made.clear()
            return with_batches(request, timeouts)

        service.send = forgetful
        with pytest.raises(NotFound, match="does not know batch_1"):
            asked(run, other)
        assert run.lost == (0, Decimal(0))  # the service may know it tomorrow
        (left,) = list_batches()
        assert pondero.Client(transport=service).open_batch(left.id).give_up() == "ended"
        asked(run, engine(service))
        count, most = run.lost
        assert count == 20
        assert most > 0
    assert len(service.creates) == 1


@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_a_batch_that_may_be_at_the_service_ends_the_run_with_one_sentence(name, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    service = type("Paid", (SERVICES[name],), {"needs_key": True})(on_create=["cut"])
    models = (MODELS[name],)
    with begun(4, once=True, pilot=0, models=models, budget=50.0, max_tokens=1000) as run:
        for _ in range(2):  # at first, and when it goes on
            with pytest.raises(PonderoError) as told:
                asked(run, engine(service))
            whole = f"{told.value} {' '.join(told.value.__notes__)}"
            assert "it is not known whether the service accepted it" in whole
            assert len(service.creates) == 1
        (left,) = list_batches()
        pondero.Client(transport=service).open_batch(left.id).send(again=True)
        asked(run, engine(service))
        assert len(run.answers()) == 8
    assert len(service.creates) == 2


def test_a_storm_of_429_ends_in_one_sentence_and_the_run_goes_on_later():
    service = Paid(on_create=["429"] * 50)
    with begun(4, once=True, pilot=0, budget=50.0, max_tokens=1000) as run:
        with pytest.raises(RateLimited) as told:
            asked(run, engine(service))
        assert "0 of its 8 requests are at the service" in told.value.__notes__[0]
        service.on_create.clear()
        asked(run, engine(service))
        assert len(run.answers()) == 8
        assert run.lost == (0, Decimal(0))
    assert len(service.made) == 1
    assert len(list_batches()) == 1


def test_what_was_taken_and_never_sent_is_no_loss():
    with begun(4, once=True, pilot=0, budget=50.0, max_tokens=1000) as run:
        run.begin("never sent", Decimal(1))  # killed before the batch was written
        asked(run, engine(Paid()))
        assert run.lost == (0, Decimal(0))
        assert len(run.answers()) == 8
