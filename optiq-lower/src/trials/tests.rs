use super::*;

/// Link bounds of a plan that takes as many bounds of the fabric's own routes, where agreements cost nothing.
fn planned_at(planned: f64) -> LinkBounds {
    LinkBounds { planned, ..LinkBounds::default() }
}

#[test]
fn both_sides_are_tried_and_the_faster_one_serves() {
    let serve = |planned: f64, plain: f64, uses: usize| {
        let mut trials = Trials::default();
        let mut run = || {
            let side = trials.next(1.05, planned_at(0.5));
            trials.record(side, if side == Side::PLANNED { planned } else { plain });
            side
        };
        (0..uses).map(|_| run()).collect::<Vec<_>>()
    };
    // By hand: a trial costs 1.0, a hundredth of what 100 fast uses take. 100 uses, of which the third takes 2.0, have taken
    // 101; 99 have taken 100.
    let faster = serve(1.0, 2.0, 400);
    let plain: Vec<usize> = (0..400).filter(|&i| faster[i] == Side::Plain).collect();
    assert_eq!(plain, [2, 99, 198, 297, 396]);
    let slower = serve(2.0, 1.0, 190);
    let planned: Vec<usize> = (0..190).filter(|&i| slower[i] == Side::PLANNED).collect();
    assert_eq!(planned, [0, 1, 98]);
    // A little faster is not enough; trials that cost little may be frequent.
    let close = serve(1.0, 1.04, 50);
    assert!(close.iter().filter(|side| **side == Side::PLANNED).count() <= 50 / 3, "{close:?}");
}

/// On one machine links have the rate of a network that is not there: all sides are faster than the bound, MPI most of all.
#[test]
fn mpi_has_its_trial_at_once_where_links_are_faster_than_they_were_said_to_be() {
    let served_by_plain = |planned: f64, plain: f64| {
        let mut trials = Trials::default().with_flow_controls(&FlowControl::QUEUES);
        let mut run = || {
            let side = trials.next(1.02, LinkBounds::default());
            trials.record(side, if side == Side::Plain { plain } else { planned });
            side == Side::Plain
        };
        (0..30).map(|_| run()).collect::<Vec<_>>()
    };
    let slower = served_by_plain(0.66, 0.4);
    assert_eq!(slower.iter().position(|plain| *plain), Some(2));
    assert!(slower[3..].iter().all(|plain| *plain), "{slower:?}");
    // At the bound nothing seems to be lost.
    assert!(!served_by_plain(1.0, 0.9).contains(&true));
}

/// A token bucket lets the first bytes pass at once, so that a call of a few milliseconds takes less than its link bound.
#[test]
fn mpi_has_its_trial_at_once_where_direct_messages_beat_their_bound() {
    let first = |planned: f64, took: f64| {
        let time = |side| if side == Side::Plain { 0.85 } else { took };
        let (served, best) = sides(Side::PLANNED, planned_at(planned), 40, time);
        (served.iter().position(|side| *side == Side::Plain), best)
    };
    assert_eq!(first(1.0, 0.98), (Some(2), Side::Plain));
    // Other flow control would move the same bytes over the same links.
    let slower = |side| if side == Side::Plain { 1.1 } else { 0.98 };
    let (served, _) = sides(Side::PLANNED, LinkBounds::default(), 40, slower);
    assert_eq!(served.iter().filter(|side| !matches!(**side, Side::Plain | Side::PLANNED)).count(), 0, "{served:?}");
    // Calls of a plan that forwards may overlap, and MPI is dearer to try.
    assert_eq!(first(0.96, 0.95), (None, Side::PLANNED));
}

/// MPI takes 1.8 where all ranks begin together, and 1.0 in a row; planned paths take 1.3 in both. Calls without an agreement are MPI's, and what is
/// agreed on for another look is not.
#[test]
fn calls_that_are_agreed_on_are_decided_by_calls_that_were() {
    let bounds = LinkBounds::default();
    let mut trials = Trials::default();
    for _ in 0..12 {
        let side = trials.next(1.05, bounds);
        trials.record(side, if side == Side::Plain { 1.8 } else { 1.3 });
    }
    trials.record_in_a_row(Side::PLANNED, 1.3);
    assert_eq!((trials.best(1.05), trials.is_settled_on_plain(1.05, bounds)), (Side::PLANNED, false));
    trials.record_in_a_row(Side::Plain, 1.0);
    assert_eq!((trials.best(1.05), trials.is_settled_on_plain(1.05, bounds)), (Side::Plain, true));
    assert_eq!(trials.next(1.05, bounds), Side::PLANNED);
    assert_eq!(trials.best_multiple(1.05), Some(1.3));
    // MPI is slower in a row, whatever it takes alone.
    let mut trials = Trials::default();
    trials.record(Side::PLANNED, 1.3);
    trials.record(Side::Plain, 1.2);
    trials.record_in_a_row(Side::PLANNED, 1.3);
    trials.record_in_a_row(Side::Plain, 1.6);
    assert_eq!((trials.best(1.05), trials.best_agreed(1.05)), (Side::PLANNED, Side::PLANNED));
}

#[test]
fn direct_messages_are_tried_where_mpi_leaves_room() {
    let serve = |direct: f64, plain: f64| {
        let bounds = planned_at(1.0);
        let mut trials = Trials::beginning_with(Side::Plain);
        let mut run = || {
            let side = trials.next(1.02, bounds);
            trials.record(side, if side == Side::PLANNED { direct } else { plain });
            (side == Side::PLANNED, trials.is_settled_on_plain(1.02, bounds))
        };
        (0..12).map(|_| run()).collect::<Vec<_>>()
    };
    let planned = |list: &[(bool, bool)]| (0..list.len()).filter(|&i| list[i].0).collect::<Vec<_>>();
    // From the third use on the faster one.
    let faster = serve(1.02, 1.7);
    assert_eq!(planned(&faster), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert!(faster.iter().all(|(_, settled)| !settled));
    let slower = serve(3.0, 1.7);
    assert_eq!(planned(&slower), [1]);
    assert_eq!(slower.iter().position(|(_, settled)| *settled), Some(1));
    // MPI is within 2 % of the bound: there is nothing to try.
    let close = serve(1.0, 1.01);
    assert_eq!((planned(&close), close[0].1), (vec![], true));
}

/// MPI takes 0.9 bounds at first, as links let the first bytes pass at once, and 1.2 later, where all ranks begin together. It left no room for
/// direct messages when these were to be tried, so that it serves without agreements; what it leaves from then on pays for their trial.
#[test]
fn direct_messages_that_were_passed_over_are_tried_later() {
    let bounds = LinkBounds { agreement: 0.05, ..LinkBounds::default() };
    let mut trials = Trials::beginning_with(Side::Plain);
    let mut served = Vec::new();
    for use_ in 0..40 {
        let side = trials.next(1.02, bounds);
        assert!(trials.is_settled_on_plain(1.02, bounds) || side == Side::PLANNED || use_ == 0, "use {use_}");
        let plain = if use_ < 2 { 0.9 } else { 1.2 };
        trials.record(side, if side == Side::Plain { plain } else { 1.4 });
        served.push(side);
    }
    let tried: Vec<usize> = (0..40).filter(|&i| served[i] == Side::PLANNED).collect();
    // By hand: after n uses of 1.2 besides, 0.15 n - 0.3 have been lost, and half of the average is what a trial is taken to cost: 0.45 and 0.557
    // after 5, 0.6 and 0.5625 after 6. Further trials cost 0.2, a hundredth of 20.
    assert_eq!(tried, [8, 18, 34]);
    assert!(trials.is_settled_on_plain(1.02, bounds), "they are slower");
}

/// MPI takes 1.06 bounds. Direct messages at their bound would win 4 % after `min_gain`, or nothing where ranks agree for a twentieth of the bound.
#[test]
fn an_agreement_takes_its_part_of_the_room() {
    let tried = |agreement: f64| {
        let bounds = LinkBounds { agreement, ..LinkBounds::default() };
        let mut trials = Trials::beginning_with(Side::Plain);
        let mut run = || {
            let side = trials.next(1.02, bounds);
            trials.record(side, if side == Side::Plain { 1.06 } else { 1.0 + agreement });
            side
        };
        let served: Vec<Side> = (0..4).map(|_| run()).collect();
        (served.contains(&Side::PLANNED), trials.is_settled_on_plain(1.02, bounds))
    };
    assert_eq!((tried(0.0), tried(0.05)), ((true, false), (false, true)));
    // A plan at half of the bound has room for both.
    let bounds = LinkBounds { planned: 0.5, direct: 1.0, agreement: 0.3 };
    let mut trials = Trials::beginning_with(Side::Plain);
    trials.record(Side::Plain, 1.0);
    assert!(trials.has_room(1.02, bounds) && !trials.has_room(1.3, bounds));
}

#[test]
fn agreed_calls_exceed_rows_of_mpi_by_what_the_faster_side_takes_longer() {
    let mut trials = Trials::default();
    trials.record(Side::PLANNED, 1.3);
    assert_eq!(trials.agreed_excess(1.02), None, "no row");
    trials.record(Side::Plain, 1.8);
    trials.record_in_a_row(Side::PLANNED, 1.4);
    trials.record_in_a_row(Side::Plain, 1.1);
    // By hand: planned paths serve what ranks agree on, 1.3.
    assert!(trials.agreed_excess(1.02).is_some_and(|excess| (excess - 0.2).abs() < 1e-12));
    trials.record(Side::Plain, 0.9);
    assert_eq!(trials.agreed_excess(1.02), Some(0.0), "MPI is faster alone than in its row");
}

#[test]
fn mpi_has_its_trial_when_the_plan_may_have_lost_as_much() {
    let plain = |planned: f64, bounds: LinkBounds| {
        let mut trials = Trials::beginning_with(Side::PLANNED);
        let mut run = || {
            let side = trials.next(1.02, bounds);
            trials.record(side, if side == Side::PLANNED { planned } else { 3.0 });
            side == Side::Plain
        };
        (0..250).filter(|_| run()).collect::<Vec<_>>()
    };
    let direct = planned_at(1.0);
    // By hand: a trial is taken to cost 1, a hundredth of 100 uses. The next one would cost 2: 197 uses and the trial took 200.
    assert_eq!(plain(1.0, direct), [100, 198]);
    // Six uses may have lost 6 x 0.06, of which 0.3 x 1.06 is what a trial is taken to cost.
    assert_eq!(plain(1.06, direct)[0], 6);
    // Half the bound of the fabric's own routes, but above the plan's: fabrics that route adaptively may do better.
    assert_eq!(plain(0.75, planned_at(0.5))[0], 3);
    assert_eq!(plain(3.0, direct)[0], 2);
}

#[test]
fn what_an_earlier_run_measured_needs_no_trial() {
    let bounds = planned_at(1.0);
    let serve_beside = |plain: f64, mpi_bounds: Option<f64>, optiq_bounds: Option<f64>| {
        let flow_control = FlowControl::default();
        let times = Times { mpi_bounds, mpi_calls: 9, optiq_bounds, optiq_calls: 9, flow_control };
        let mut trials = Trials::known(&times, Side::Plain);
        let mut run = || {
            let side = trials.next(1.02, bounds);
            trials.record(side, if side == Side::PLANNED { 1.02 } else { plain });
            side == Side::PLANNED
        };
        (0..4).map(|_| run()).collect::<Vec<_>>()
    };
    let serve = |mpi_bounds, optiq_bounds| serve_beside(1.7, mpi_bounds, optiq_bounds);
    assert_eq!(serve(Some(1.7), Some(1.02)), [true; 4]);
    assert_eq!(serve(Some(1.7), Some(3.0))[..2], [false; 2]);
    assert_eq!(serve(Some(1.7), None), [true; 4]);
    assert_eq!(serve_beside(1.01, Some(1.01), None), [false; 4]);
    assert_eq!(serve(Some(1.01), None), [false, true, true, true], "MPI takes longer than it did");
    assert_eq!(serve(None, None), [false, true, true, true]);
    // MPI was never tried: nine calls may have lost more than a trial costs, or less.
    assert_eq!(serve(None, Some(1.2)), [false, true, true, true]);
    assert_eq!(serve(None, Some(1.02)), [true; 4]);
}

/// MPI takes 1.5 and direct messages 1.4 of the bound: paths that were predicted to take 1.3 are planned, and given up if they take
/// more than 1.4 themselves.
#[test]
fn other_paths_get_their_turn_when_all_else_is_slower() {
    let (direct, flow_control) = (Side::PLANNED, FlowControl::default());
    let mut before = Trials::beginning_with(Side::Plain);
    before.record(Side::Plain, 1.5);
    assert!(!before.loses_to(1.05, 0.1), "one use may have opened connections");
    before.record(direct, 1.4);
    before.record(direct, 1.4);
    assert!(before.loses_to(1.05, 1.3) && !before.loses_to(1.05, 1.35) && !before.loses_to(1.05, f64::INFINITY));
    let with = |planned: f64| {
        let mut trials = Trials::beginning_with(Side::Planned(flow_control)).with_mpi_of(&before, 1.0);
        assert!(!trials.is_behind(1.05, &before), "nothing is measured");
        trials.record(direct, 9.0);
        assert!(!trials.is_behind(1.05, &before), "one use may have opened connections");
        trials.record(direct, planned);
        (trials.is_behind(1.05, &before), trials.best(1.05))
    };
    assert_eq!(with(1.3), (false, direct));
    assert_eq!(with(1.42), (false, direct), "as fast as what it has replaced");
    assert_eq!(
        with(1.45),
        (true, Side::Plain),
        "less than 1.05 times as fast as MPI, which is slower than direct messages"
    );
    assert_eq!(with(1.6), (true, Side::Plain));
    let mut only_direct = Trials::default();
    (0..3).for_each(|_| only_direct.record(direct, 9.0));
    assert!(!only_direct.loses_to(1.05, 1.0), "MPI was not measured");
}

#[test]
fn an_outlier_counts_little_and_a_lasting_change_counts() {
    let average = |list: &[f64]| {
        let mut average = RobustMovingAverage::default();
        list.iter().for_each(|&s| average.add(s));
        average.seconds.unwrap()
    };
    assert_eq!(average(&[9.0, 2.0]), 2.0);
    // A tenfold time counts as 3: 2 + (3 - 2) / 4; then (2 - 2.25) / 4 less.
    assert_eq!(average(&[9.0, 2.0, 20.0]), 2.25);
    assert_eq!(average(&[9.0, 2.0, 20.0, 2.0]), 2.1875);
    assert!((average(&[&[2.0; 3][..], &[4.0; 30][..]].concat()) - 4.0).abs() < 0.01);
}

/// Uses of each side in turn, where each takes as long as `time` says; and who is fastest in the end.
fn sides(first: Side, bounds: LinkBounds, uses: usize, time: impl Fn(Side) -> f64) -> (Vec<Side>, Side) {
    let mut trials = Trials::beginning_with(first).with_flow_controls(&FlowControl::QUEUES);
    let mut run = || {
        let side = trials.next(1.02, bounds);
        trials.record(side, time(side));
        side
    };
    ((0..uses).map(|_| run()).collect(), trials.best(1.02))
}

#[test]
fn flow_control_is_tried_where_the_plan_is_far_from_its_bound() {
    use FlowControl::{LongQueues, MediumQueues, ShortQueues, ShortestQueues, SmallChunks};
    let time = |side| match side {
        Side::Planned(LongQueues | SmallChunks) => 0.95,
        Side::Planned(MediumQueues) => 0.9,
        Side::Planned(ShortQueues) => 0.55,
        Side::Planned(ShortestQueues) => 0.7,
        Side::Plain => 1.5,
    };
    // By hand: two uses of 0.95 may have lost 0.9, which pays for half of 0.95. Then medium queues are best, the trial cost
    // nothing, and they lose 0.4 in each use; two pay for the 0.45 that the next trial is taken to cost.
    let (served, best) = sides(Side::PLANNED, planned_at(0.5), 6, time);
    let expected = [LongQueues, LongQueues, MediumQueues, MediumQueues, ShortQueues, ShortQueues];
    assert_eq!(served, expected.map(Side::Planned));
    assert_eq!(best, Side::Planned(ShortQueues));
    // Close to the bound nothing is tried for long.
    let (served, _) = sides(Side::PLANNED, planned_at(0.93), 23, |_| 0.95);
    assert!(served.iter().all(|side| *side == Side::PLANNED), "{served:?}");
    // At less than half of the bound, packets were lost: least in flight first.
    let far = |side| if side == Side::Planned(ShortestQueues) { 1.1 } else { 9.0 };
    let (served, best) = sides(Side::PLANNED, planned_at(0.99), 6, far);
    assert_eq!(served[..2], [Side::PLANNED; 2]);
    assert_eq!((&served[2..], best), (&[Side::Planned(ShortestQueues); 4][..], Side::Planned(ShortestQueues)));
    // On the same routes MPI costs less to try.
    let (served, best) = sides(Side::PLANNED, planned_at(1.0), 6, far);
    assert_eq!(served[2..4], [Side::Plain, Side::Planned(ShortestQueues)]);
    assert_eq!(best, Side::Planned(ShortestQueues));
}

/// Where packets are lost, uses take about one bound or several, and no flow control helps: MPI has its trial all the same, and serves.
#[test]
fn lost_packets_do_not_keep_mpi_from_its_trial() {
    let planned = [2.9, 2.8, 6.3, 1.05, 3.8, 4.3, 4.9, 5.3];
    let at = std::cell::Cell::new(0);
    let time = |side| {
        at.set(at.get() + 1);
        if side == Side::Plain { 2.2 } else { planned[(at.get() - 1) % planned.len()] }
    };
    let (served, best) = sides(Side::PLANNED, planned_at(1.0), 16, time);
    let first = served.iter().position(|side| *side == Side::Plain);
    assert!(first.is_some_and(|first| first <= 8), "{served:?}");
    assert_eq!(best, Side::Plain, "{served:?}");
}

/// A matrix as skewed as that of `data/cases/log-normal-16.txt`: the plan takes 1.13 bounds on a fat tree, MPI 1.06.
#[test]
fn mpi_is_tried_before_flow_control_where_the_plan_is_near_its_bound() {
    let bounds = planned_at(1.0);
    let time = |side| if side == Side::Plain { 1.06 } else { 1.13 };
    let (served, best) = sides(Side::PLANNED, bounds, 12, time);
    // By hand: three uses may have lost 0.39, and a trial is taken to cost 0.34.
    assert_eq!(served.iter().position(|side| *side == Side::Plain), Some(3));
    assert_eq!(best, Side::Plain);
    assert!(served[3..].iter().filter(|side| **side != Side::Plain).count() <= 1, "{served:?}");
    // Farther from it, flow control of a plan that forwards comes first.
    let forwards = planned_at(0.99);
    let (served, _) = sides(Side::PLANNED, forwards, 12, |side| if side == Side::Plain { 1.2 } else { 1.3 });
    assert_eq!(served.iter().find(|side| **side != Side::PLANNED), Some(&Side::Planned(FlowControl::MediumQueues)));
}

/// Calls at the start of a program may take ten times as long as later ones; a trial that was faster is no debt of theirs.
#[test]
fn a_slow_start_does_not_put_off_later_trials() {
    let at = std::cell::Cell::new(0);
    let time = |_| {
        at.set(at.get() + 1);
        if at.get() <= 2 { 30.0 } else { 3.0 }
    };
    // By hand: two uses of 30 pay for MPI's trial. It takes 3, and loses 2 a use; half of 3 is affordable at once, and again as the next
    // one cost nothing.
    let (served, _) = sides(Side::PLANNED, planned_at(1.0), 6, time);
    let last = Side::Planned(FlowControl::MediumQueues);
    assert_eq!((served[2], served[5]), (Side::Plain, last), "{served:?}");
}

#[test]
fn flow_control_that_is_no_better_costs_little() {
    let bounds = planned_at(1.0);
    let time = |side| match side {
        Side::PLANNED => 1.25,
        Side::Planned(_) => 1.6,
        Side::Plain => 1.8,
    };
    let (served, best) = sides(Side::PLANNED, bounds, 400, time);
    let others = served.iter().filter(|side| **side != Side::PLANNED).count();
    assert_eq!(best, Side::PLANNED);
    // Four first trials, and further ones, of 0.35 at least, for a hundredth of some 400 x 1.25.
    assert!((5..=4 + 15).contains(&others), "{others}");
    let lost: f64 = served.iter().map(|&side| time(side) - 1.25).sum();
    assert!(lost < 3.0 * 0.35 + 0.55 + 0.01 * 1.02 * 500.0, "{lost}");
}

#[test]
fn mpi_far_from_the_bound_is_left_when_small_chunks_are_found_to_be_faster() {
    let bounds = planned_at(1.0);
    let time = |side| match side {
        Side::Planned(FlowControl::ShortestQueues) => 1.02,
        Side::Planned(_) => 13.0,
        Side::Plain => 10.0,
    };
    let (served, best) = sides(Side::Plain, bounds, 8, time);
    assert_eq!(served[..2], [Side::Plain, Side::PLANNED]);
    assert_eq!(best, Side::Planned(FlowControl::ShortestQueues), "{served:?}");
}

#[test]
fn trials_that_begin_anew_know_the_flow_control_and_what_mpi_took() {
    let mut trials = Trials::default().with_flow_controls(&FlowControl::QUEUES);
    trials.record(Side::PLANNED, 9.0);
    trials.record(Side::Planned(FlowControl::ShortQueues), 2.0);
    trials.record(Side::Plain, 1.0);
    assert_eq!(trials.best(1.02), Side::Plain);
    let mut again = trials.anew();
    assert_eq!(again.next(1.02, LinkBounds::default()), Side::Planned(FlowControl::ShortQueues));
    assert_eq!((again.times().mpi_bounds, again.times().optiq_bounds), (Some(1.0), None));
    let elsewhere = Trials::default().with_mpi_of(&trials, 0.5);
    assert_eq!((elsewhere.times().mpi_bounds, elsewhere.times().mpi_calls), (Some(0.5), 1));
    assert_eq!(Trials::beginning_with(Side::Plain).anew().best(1.02), Side::Plain);
}

/// MPI takes three times as long as planned paths, which take twice their bound. Each of 20 changes of the load would cost a trial of MPI.
#[test]
fn trials_that_begin_anew_try_mpi_once() {
    let mut trials = Trials::default();
    let mut by_mpi = 0;
    for call in 0..200 {
        if call % 10 == 9 {
            trials = trials.anew();
        }
        let side = trials.next(1.02, planned_at(0.5));
        by_mpi += usize::from(side == Side::Plain);
        trials.record(side, if side == Side::Plain { 3.0 } else { 1.0 });
    }
    assert_eq!(by_mpi, 1);
}

#[test]
fn what_is_known_has_its_flow_control() {
    let mut trials =
        Trials::beginning_with(Side::Planned(FlowControl::ShortQueues)).with_flow_controls(&FlowControl::QUEUES);
    assert_eq!(trials.next(1.02, LinkBounds::default()), Side::Planned(FlowControl::ShortQueues));
    trials.record(Side::Planned(FlowControl::ShortQueues), 1.1);
    assert_eq!(trials.proven_flow_control(), None);
    let times = trials.times();
    assert_eq!((times.flow_control, times.optiq_bounds), (FlowControl::ShortQueues, Some(1.1)));
    let mut again = Trials::known(&times, Side::Plain);
    assert_eq!(again.next(1.02, LinkBounds::default()), Side::Planned(FlowControl::ShortQueues));
    again.record(Side::PLANNED, 1.0);
    assert_eq!(again.proven_flow_control(), Some(FlowControl::LongQueues));
}
